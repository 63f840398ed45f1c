import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, TurnContext, TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import { failure } from "../../protocol/failure.ts";
import { milliseconds } from "../../protocol/timestamp.ts";
import { type Closed, strictestSandbox } from "../isolation/role-sandbox.ts";
import { type ContentCheck, contentCheckOf } from "../content-schema.ts";
import type { Launcher } from "../launcher.ts";
import { type Prompts, standardPrompts } from "../prompts/prompts.ts";
import { makeWorkDirectory } from "../work-directory.ts";
import { inNewConversation, type Port, type Reader, type ReadOutput, type Repair } from "./dialects/dialect.ts";
import { dialectFor } from "./dialects/index.ts";
import { agentEnvironment, missedVariable } from "./environment.ts";
import { cancelledTurn, turnResult, withUsageOf } from "./outcome.ts";
import { type RunEnd, type RunLimits, SupervisedRun } from "./process.ts";
import { TurnOutput } from "./turn-output.ts";

/** Settings of all command-line agents, whatever their role. */
export interface CliSettings {
  readonly kill_grace_ms: number;
  readonly answer_grace_ms: number;
  /** Maximum size of a message. Console lines are cut at 1 MiB. */
  readonly max_line_bytes: number;
  /** Maximum for stdout and stderr together, in one turn. */
  readonly max_output_bytes: number;
  /** The scheduler's own environment. Agents get the variables on the allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Renders turns for programs that speak no envelopes. Defaults to the built-in templates. */
  readonly prompts?: Prompts;
  /** What sandboxed agents of the session may not see or change. */
  readonly closed?: Closed | undefined;
}

/**
 * Runs command-line programs, each in its role's dialect. Each turn is one process: started, recorded, and only then given its request; its whole
 * group is gone when the turn ends. If an answer cannot be read, a second process continues the conversation and asks once more. A turn whose
 * conversation no longer exists starts once more in a new one. A program that is not there gives an `unavailable` failure, another that cannot be
 * started an `environment` failure.
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
  const output = new TurnOutput(request, context, settings);
  try {
    const check = await contentCheckOf(request.role);
    const run = (asked: TurnRequest, repair?: Repair) =>
      runProcess(launcher, settings, asked, context, output, check, repair);
    let asked = request;
    let first = await run(asked);
    if (first.gone !== undefined && !context.signal.aborted) {
      void output.show("stdout", `${first.gone} A new conversation begins.`);
      asked = inNewConversation(request);
      const again = await run(asked);
      first = { ...again, result: withUsageOf(first.result, again.result) };
    }
    if (first.repair === undefined || context.signal.aborted) return first.result;
    const second = await run(asked, first.repair);
    return withUsageOf(first.result, second.result);
  } finally {
    await output.close();
  }
}

interface ProcessOutcome {
  readonly result: TurnResult;
  readonly repair?: Repair;
  /** Why the conversation cannot be continued. */
  readonly gone?: string;
}

/** Runs one process of a turn. The outcome's `repair` is what to ask for once more, if the answer could not be read. */
async function runProcess(
  launcher: Launcher,
  settings: CliSettings,
  request: TurnRequest,
  context: TurnContext,
  output: TurnOutput,
  check: ContentCheck | undefined,
  repaired?: Repair,
): Promise<ProcessOutcome> {
  const given = agentEnvironment(settings.environment, request);
  // A directory for this process, made on first use.
  let scratch: string | undefined;
  const removeScratch = () => scratch !== undefined && rmSync(scratch, { recursive: true, force: true });
  const began = performance.now();
  const spoken = dialectFor(request.role)({
    request,
    prompts: settings.prompts ?? standardPrompts(),
    environment: given,
    scratch: () => (scratch ??= mkdtempSync(join(tmpdir(), "bosun-"))),
    // Derived from the time of the request, because only the runtime has a clock.
    now: () => milliseconds(request.at) + performance.now() - began,
    emit: (event) => context.emit(event),
    check,
    show: (text) => void output.show("stdout", text),
    ...(repaired === undefined ? {} : { repair: repaired }),
  });
  const environment = { ...given, ...spoken.environment };
  const launched = await launcher.launch({
    command: spoken.command,
    directory: request.payload.workspace,
    environment,
    isolation: strictestSandbox([request.role], request.payload, settings.closed),
  });
  if (!launched.ok) {
    removeScratch();
    return { result: { failure: launched.error, refused: [] } };
  }

  const { timeout_ms, idle_timeout_ms } = request;
  const { kill_grace_ms, answer_grace_ms, max_output_bytes } = settings;
  const limits: RunLimits = { timeout_ms, idle_timeout_ms, kill_grace_ms, answer_grace_ms, max_output_bytes };
  const { converses = false, keepsLines = false } = spoken;
  const reader = guarded(spoken.reader);
  const listener = output.listener(reader, keepsLines, () => run.answered());
  const run = new SupervisedRun(launched.value, limits, listener, context.signal);
  reader.connect?.({
    say: (text) => {
      if (keepsLines) void output.keep(text.trimEnd());
      run.say(text);
    },
    close: () => {
      context.hear?.(undefined);
      run.close();
    },
    // A text that begins with / would be a command of some programs.
    hear: (take) => context.hear?.((note) => take(`A note to this turn: ${note}`)),
    permit: (asked) => run.whileWaiting(context.permit(asked)),
  });

  // A process that is not on record could not be found after a crash, so it MUST NOT get its request.
  const recorded = await context.started(launched.value.identity).then(
    () => true,
    () => false,
  );
  if (keepsLines) void output.keep(spoken.input.trimEnd());
  if (recorded) run.give(spoken.input, converses);
  else run.stop("not_recorded");
  crashPoint("turn_given");

  const end = await run.ended;
  context.hear?.(undefined);
  listener.close();
  removeScratch();
  output.end();
  const stderr_tail = output.stderrTail();
  const heard = reader.end(end, stderr_tail);
  const missed_variable = missedVariable(stderr_tail, settings.environment, environment);
  const result = turnResult(request, limits, end, { ...heard, stderr_tail, missed_variable });
  const { conversation, gone } = heard;
  // An agent that has answered may be slow to exit.
  const isOver = end.cause === "exited" || end.cause === "answered";
  if (!isOver || repaired) return { result };
  if (gone !== undefined && request.conversation) return { result, gone };
  if (heard.repair === undefined || conversation === undefined) return { result };
  return { result, repair: { conversation, prompt: heard.repair } };
}

/**
 * Wraps a reader so that no output can make it throw: an exception would end the scheduler, and every resume would meet it again. The turn fails with
 * `malformed_output` unless it has an answer.
 */
export function guarded(reader: Reader): Reader {
  let broken: string | undefined;
  const attempt = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      broken ??= error instanceof Error ? error.message : String(error);
      return otherwise;
    }
  };
  return {
    connect: (port: Port) => attempt(() => reader.connect?.(port), undefined),
    read: (line, cut) => attempt(() => reader.read(line, cut), "message"),
    end: (end: RunEnd, stderr_tail: string): ReadOutput => {
      const heard = attempt<ReadOutput>(() => reader.end(end, stderr_tail), { refused: [] });
      if (broken === undefined || heard.answer !== undefined) return heard;
      return {
        ...heard,
        failure: failure("malformed_output", `Its output cannot be read: ${broken}`, {
          hint: "Its lines are kept beside the log. If this is a newer version of the program, report it.",
        }),
      };
    },
  };
}
