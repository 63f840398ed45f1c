import type { TurnContext, TurnRequest } from "../../kernel/agent.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { agentEnvironment } from "../cli/environment.ts";
import { type OutputListener, type RunListener, SupervisedRun } from "../cli/process.ts";
import { OutputEnd } from "../cli/output-end.ts";
import { exitWords } from "../cli/outcome.ts";
import { heldBack, SHELL } from "../gate.ts";
import { type Closed, strictestSandbox } from "../isolation/role-sandbox.ts";
import type { Launcher } from "../launcher.ts";

/** What programs of a turn need: those that a model runs, and servers of its tools. */
export interface ProgramTurn {
  readonly request: TurnRequest;
  readonly context: TurnContext;
  readonly launcher: Launcher;
  /** The scheduler's own environment, of which programs get what the role says. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly closed: Closed | undefined;
  readonly kill_grace_ms: number;
  readonly max_output_bytes: number;
}

/** The end of an output that is told to a model. */
const TOLD_BYTES = 32 * 1024;

/**
 * Starts a program in the workspace and the role's sandbox. It does nothing before its process is on record, and reads no key of the model. The run
 * has been given its first line; its stdin stays open if `converses`. Fails as the launcher.
 */
export async function startProgram(
  turn: ProgramTurn,
  { command, env = {} }: { readonly command: readonly string[]; readonly env?: Readonly<Record<string, string>> },
  listener: RunListener | OutputListener,
  { timeout_ms = 0, converses = false, signal }: RunTerms,
): Promise<Fallible<SupervisedRun>> {
  const { request, context, launcher, kill_grace_ms, max_output_bytes } = turn;
  const launched = await launcher.launch({
    command: converses ? command : heldBack(command, "tool"),
    directory: request.payload.workspace,
    environment: { ...agentEnvironment(turn.environment, request), ...env },
    isolation: strictestSandbox([request.role], request.payload, turn.closed),
  });
  if (!launched.ok) return launched;
  const limits = { timeout_ms, idle_timeout_ms: 0, kill_grace_ms, answer_grace_ms: 0, max_output_bytes };
  const run = new SupervisedRun(launched.value, limits, listener, signal);
  const recorded = await context.started(launched.value.identity).then(
    () => true,
    () => false,
  );
  if (recorded) run.give(converses ? "" : "go\n", converses);
  else run.stop("not_recorded");
  return { ok: true, value: run };
}

interface RunTerms {
  readonly timeout_ms?: number;
  readonly converses?: boolean;
  readonly signal: AbortSignal;
}

/** What came of a program that ran to its end, for a model. */
export interface Ran {
  /** `exited with code 0`, `was ended after 120 s`. */
  readonly how: string;
  readonly output: string;
}

/** Runs a command of the shell to its end, with `words` as its `$1`, `$2`, …. Throws what could not be done, for the model. */
export async function runShell(
  turn: ProgramTurn,
  line: string,
  words: readonly string[],
  { timeout_ms, signal }: { readonly timeout_ms: number; readonly signal: AbortSignal },
): Promise<Ran> {
  const output = new OutputEnd(TOLD_BYTES);
  const command = [SHELL, "-c", line, "sh", ...words];
  const started = await startProgram(turn, { command }, output, { timeout_ms, signal });
  if (!started.ok) throw new Error(started.error.message);
  const { cause, exit } = await started.value.ended;
  signal.throwIfAborted();
  const text = output.isCut ? `[only the end of its output]\n${output.text()}` : output.text();
  switch (cause) {
    case "timeout":
      return { how: `was ended after ${timeout_ms / 1000} s`, output: text };
    case "output_limit":
      return { how: `printed more than ${turn.max_output_bytes} bytes and was ended`, output: text };
    case "not_recorded":
      throw new Error("Its start could not be recorded, so it was not run.");
    default:
      return { how: exit ? exitWords(exit) : "could not be ended", output: text };
  }
}
