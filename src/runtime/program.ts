import { checkEnvironment, gitCeiling } from "../agents/cli/environment.ts";
import { type OutputListener, type RunEnd, type RunListener, SupervisedRun } from "../agents/cli/process.ts";
import { strictestSandbox } from "../agents/isolation/role-sandbox.ts";
import { makeWorkDirectory } from "../agents/work-directory.ts";
import type { Change } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { ok } from "../lib/result.ts";
import { type Fallible, isOfStorage } from "../protocol/failure.ts";
import type { SessionContext } from "./context.ts";

/** What a program needs of a session. A command has it without running one. */
export type ProgramContext = Pick<
  SessionContext,
  "closed" | "config" | "fail" | "keep" | "launcher" | "paths" | "roles" | "session_id" | "workspace"
>;

/** A program that is not an agent: a check, or the notification program. */
export interface Program {
  readonly kind: "check" | "notification";
  /** The key of its stored process. */
  readonly id: string;
  /** Runs behind a gate, which first reads a line. */
  readonly command: readonly string[];
  /** Variables added to the part of the scheduler's environment that it gets. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly subject?: string | undefined;
  /** Where it runs; the workspace if absent. */
  readonly directory?: string;
  /** Its stdin after the gate's line. */
  readonly input?: string;
  readonly timeout_ms: number;
  /** Changes stored together with its process. */
  readonly begun?: readonly Change[];
}

/**
 * Runs a program in the workspace to its end, supervised. It passes its gate only once its process is on record: if the scheduler dies before,
 * nothing runs.
 */
export async function runProgram(
  context: ProgramContext,
  program: Program,
  listener: RunListener | OutputListener,
  signal: AbortSignal,
): Promise<Fallible<RunEnd>> {
  const { closed, config, launcher, paths, roles, session_id, workspace } = context;
  const { kind, id, command, variables, subject, directory = workspace, input = "", timeout_ms, begun = [] } = program;
  const artifacts_dir = paths.work(subject);
  const made = makeWorkDirectory(artifacts_dir);
  if (!made.ok && isOfStorage(made.error)) context.fail(made.error);
  if (!made.ok) return made;
  // A check runs what workers wrote. A notification program is the person's own.
  const workers = kind === "check" ? roles.filter(({ type }) => type === "worker") : [];
  const isolation = strictestSandbox(workers, { workspace: directory, artifacts_dir }, closed);
  const launched = await launcher.launch({
    // Where the machine supports it, everything that the program starts dies with it.
    isolation: isolation ?? { level: "processes", required: false },
    command,
    directory,
    environment: {
      ...checkEnvironment(process.env, { session_id, artifacts_dir, subject }),
      ...gitCeiling(directory, paths.home),
      ...variables,
    },
  });
  if (!launched.ok) return launched;
  const limits = {
    timeout_ms,
    idle_timeout_ms: 0,
    kill_grace_ms: config.kill_grace_s * 1000,
    answer_grace_ms: 0,
    max_output_bytes: config.max_output_bytes,
  };
  const run = new SupervisedRun(launched.value, limits, listener, signal);
  crashPoint(`${kind}_spawned`);
  const { pid, started } = launched.value.identity;
  for (const change of begun) void context.keep(change);
  const recorded = await context.keep({ put: "process", id, value: { pid, started, run: 1 } });
  crashPoint(`${kind}_pid_committed`);
  if (recorded) run.give(`go\n${input}`);
  else run.stop("not_recorded");
  crashPoint(`${kind}_running`);
  const end = await run.ended;
  crashPoint(`${kind}_ended`);
  return ok(end);
}
