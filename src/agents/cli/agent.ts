import { join } from "node:path";
import type { Agent, TurnContext, TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import type { Isolation, Launcher, Places } from "../launcher.ts";
import { makeWorkDirectory } from "../work-directory.ts";
import { ConsoleLog } from "./console-log.ts";
import { EnvelopeReader, mayBeEnvelope, requestLine } from "./envelope-dialect.ts";
import { agentEnvironment } from "./environment.ts";
import { cancelledTurn, turnResult } from "./outcome.ts";
import { Throttle } from "./throttle.ts";
import { type RunLimits, type RunListener, type Stream, SupervisedRun } from "./process.ts";
import { StderrTail } from "./stderr-tail.ts";

const CONSOLE_LINE_BYTES = 1_048_576;
const MAX_CONSOLE_EVENTS = 1_000;
const CONSOLE_EVENT_CHARACTERS = 8_192;

/** What holds for every command-line agent, whatever its role. */
export interface CliSettings {
  readonly kill_grace_ms: number;
  readonly answer_grace_ms: number;
  /** The longest message. Console text is cut at 1 MiB a line. */
  readonly max_line_bytes: number;
  /** Of stdout and stderr together, in one turn. */
  readonly max_output_bytes: number;
  /** The scheduler's own environment, of which an agent gets the few names on the allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Takes secrets out of what is stored or quoted here: console text and excerpts. Messages pass whole, to be redacted by whoever records them. */
  readonly redact: (text: string) => string;
  /** What of the home an agent that is kept from files may not see, and which part of that it may read after all. */
  readonly home?: (session_id: string) => Pick<Places, "hidden" | "shown">;
}

/**
 * Command-line programs that speak the envelope dialect (SPEC.md). Each turn is one process: started, recorded, and only then
 * given its request; its whole group is gone when the turn ends. A program that cannot be started is an `environment` failure.
 */
export function cliAgent({ launcher, settings }: { launcher: Launcher; settings: CliSettings }): Agent {
  return { turn: (request, context) => takeTurn(launcher, settings, request, context) };
}

async function takeTurn(
  launcher: Launcher,
  settings: CliSettings,
  request: TurnRequest,
  context: TurnContext,
): Promise<TurnResult> {
  if (context.signal.aborted) return cancelledTurn(request);
  const made = makeWorkDirectory(request.payload.artifacts_dir);
  if (!made.ok) return { failure: made.error, refused: [] };
  const launched = await launcher.launch({
    command: request.role.cli_command ?? [],
    directory: request.payload.workspace,
    environment: agentEnvironment(settings.environment, request),
    ...isolationOf(request, settings),
  });
  if (!launched.ok) return { failure: launched.error, refused: [] };

  const { timeout_ms, idle_timeout_ms } = request;
  const { kill_grace_ms, answer_grace_ms, max_output_bytes } = settings;
  const limits: RunLimits = { timeout_ms, idle_timeout_ms, kill_grace_ms, answer_grace_ms, max_output_bytes };
  const reader = new EnvelopeReader(request, (event) => context.emit(event), settings.redact);
  const listener = new TurnListener(request, context, settings, reader, () => run.answered());
  const run = new SupervisedRun(launched.value, limits, listener, context.signal);

  // A process whose start is not on record could not be found again after a crash, so it must not work.
  const recorded = await context.started(launched.value.identity).then(
    () => true,
    () => false,
  );
  if (recorded) run.give(requestLine(request));
  else run.stop("not_recorded");
  crashPoint("turn_given");

  const end = await run.ended;
  await listener.close();
  return turnResult(request, limits, end, {
    answer: reader.answer,
    refused: reader.refused,
    stderr_tail: listener.stderrTail(),
  });
}

/** What the role's sandbox asks for; less than that is a failure. */
function isolationOf(
  { role, session_id, payload }: TurnRequest,
  { home }: CliSettings,
): { readonly isolation?: Isolation } {
  const { sandbox: level = "none" } = role;
  if (level === "none") return {};
  const { hidden = [], shown = [] } = home?.(session_id) ?? {};
  const writable = [payload.workspace, payload.artifacts_dir];
  return { isolation: { level, required: true, places: { writable, hidden, shown } } };
}

/** Sorts what a process prints: messages to the reader, all else to the console logs, the events and the tail of stderr. */
class TurnListener implements RunListener {
  readonly #context: TurnContext;
  readonly #settings: CliSettings;
  readonly #reader: EnvelopeReader;
  readonly #answered: () => void;
  readonly #logs: Readonly<Record<Stream, ConsoleLog>>;
  readonly #tail = new StderrTail();
  readonly #throttle: Throttle | undefined;
  #consoleEvents = 0;

  constructor(
    request: TurnRequest,
    context: TurnContext,
    settings: CliSettings,
    reader: EnvelopeReader,
    answered: () => void,
  ) {
    this.#context = context;
    this.#settings = settings;
    this.#reader = reader;
    this.#answered = answered;
    const { messages_per_minute } = request.role.rate_limit ?? {};
    this.#throttle = messages_per_minute === undefined ? undefined : new Throttle(messages_per_minute);
    const { turn_id, run } = request.stamp;
    const logOf = (stream: Stream) =>
      new ConsoleLog(join(request.output_directory, `${turn_id}.${run}.${stream}.log`), settings.max_output_bytes);
    this.#logs = { stdout: logOf("stdout"), stderr: logOf("stderr") };
  }

  capOf(stream: Stream, firstByte: number): number {
    return stream === "stdout" && mayBeEnvelope(firstByte) ? this.#settings.max_line_bytes : CONSOLE_LINE_BYTES;
  }

  line(stream: Stream, bytes: Buffer, cut: boolean): Promise<void> | undefined {
    if (stream === "stdout") {
      const before = this.#reader.answer;
      const isMessage = this.#reader.read(bytes, cut);
      if (before === undefined && this.#reader.answer !== undefined) this.#answered();
      if (isMessage) return this.#throttle?.taken();
    }
    const tooLong = cut || bytes.length > CONSOLE_LINE_BYTES;
    const said = bytes.toString("utf8", 0, Math.min(bytes.length, CONSOLE_LINE_BYTES));
    const text = this.#settings.redact(tooLong ? `${said} [cut]` : said);
    if (stream === "stderr") this.#tail.add(text);
    this.#consoleEvents += 1;
    if (this.#consoleEvents <= MAX_CONSOLE_EVENTS) {
      this.#context.emit({ kind: "console", stream, text: text.slice(0, CONSOLE_EVENT_CHARACTERS) });
    }
    return this.#logs[stream].write(text);
  }

  stderrTail(): string {
    return this.#tail.text();
  }

  async close(): Promise<void> {
    this.#throttle?.close();
    await Promise.all([this.#logs.stdout.close(), this.#logs.stderr.close()]);
  }
}
