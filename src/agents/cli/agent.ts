import { join } from "node:path";
import type { Agent, TurnContext, TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import type { Isolation, Launcher, SandboxPaths } from "../launcher.ts";
import { makeWorkDirectory } from "../work-directory.ts";
import { ConsoleLog } from "./console-log.ts";
import { EnvelopeReader, mayBeEnvelope, requestLine } from "./envelope-dialect.ts";
import { agentEnvironment, missedVariable } from "./environment.ts";
import { cancelledTurn, turnResult } from "./outcome.ts";
import { Throttle } from "./throttle.ts";
import { type RunLimits, type RunListener, type Stream, SupervisedRun } from "./process.ts";
import { StderrTail } from "./stderr-tail.ts";

const CONSOLE_LINE_BYTES = 1_048_576;
const MAX_CONSOLE_EVENTS = 1_000;
const CONSOLE_EVENT_CHARACTERS = 8_192;

/** Settings of every command-line agent, whatever its role. */
export interface CliSettings {
  readonly kill_grace_ms: number;
  readonly answer_grace_ms: number;
  /** The longest message. Console lines are cut at 1 MiB. */
  readonly max_line_bytes: number;
  /** Of stdout and stderr together, in one turn. */
  readonly max_output_bytes: number;
  /** The scheduler's own environment, of which agents get the variables on the allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Removes secrets from console text and excerpts. Messages are redacted when they are recorded. */
  readonly redact: (text: string) => string;
  /** The paths of the home that a sandboxed agent may not see, and the parts of them that it may read. */
  readonly home?: (session_id: string) => Pick<SandboxPaths, "hidden" | "readable">;
}

/**
 * Runs command-line programs that speak the envelope dialect (SPEC.md). Each turn is one process: started, recorded, and only then
 * given its request; its whole group is gone when the turn ends. A program that cannot be started gives an `environment` failure.
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
  const environment = agentEnvironment(settings.environment, request);
  const launched = await launcher.launch({
    command: request.role.cli_command ?? [],
    directory: request.payload.workspace,
    environment,
    ...isolationOf(request, settings),
  });
  if (!launched.ok) return { failure: launched.error, refused: [] };

  const { timeout_ms, idle_timeout_ms } = request;
  const { kill_grace_ms, answer_grace_ms, max_output_bytes } = settings;
  const limits: RunLimits = { timeout_ms, idle_timeout_ms, kill_grace_ms, answer_grace_ms, max_output_bytes };
  const reader = new EnvelopeReader(request, (event) => context.emit(event), settings.redact);
  const listener = new TurnListener(request, context, settings, reader, () => run.answered());
  const run = new SupervisedRun(launched.value, limits, listener, context.signal);

  // A process that is not on record could not be found after a crash, so it MUST NOT get its request.
  const recorded = await context.started(launched.value.identity).then(
    () => true,
    () => false,
  );
  if (recorded) run.give(requestLine(request));
  else run.stop("not_recorded");
  crashPoint("turn_given");

  const end = await run.ended;
  await listener.close();
  const stderr_tail = listener.stderrTail();
  return turnResult(request, limits, end, {
    answer: reader.answer,
    refused: reader.refused,
    stderr_tail,
    missed_variable: missedVariable(stderr_tail, settings.environment, environment),
  });
}

/** The sandbox that the role requires. */
function isolationOf(
  { role, session_id, payload }: TurnRequest,
  { home }: CliSettings,
): { readonly isolation?: Isolation } {
  const { sandbox: level = "none" } = role;
  if (level === "none") return {};
  const { hidden = [], readable = [] } = home?.(session_id) ?? {};
  const writable = [payload.workspace, payload.artifacts_dir];
  return { isolation: { level, required: true, paths: { writable, hidden, readable } } };
}

/** Passes messages on to the reader, and other lines to the console logs, the events and the tail of stderr. */
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
      const kind = this.#reader.read(bytes, cut);
      if (kind === "answer") this.#answered();
      if (kind !== "console") return this.#throttle?.taken();
    }
    const tooLong = cut || bytes.length > CONSOLE_LINE_BYTES;
    const kept = bytes.toString("utf8", 0, Math.min(bytes.length, CONSOLE_LINE_BYTES));
    const text = this.#settings.redact(tooLong ? `${kept} [cut]` : kept);
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
