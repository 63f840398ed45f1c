import { checkEnvironment } from "../agents/cli/environment.ts";
import { type RunEnd, type RunListener, SupervisedRun } from "../agents/cli/process.ts";
import { StderrTail } from "../agents/cli/stderr-tail.ts";
import type { Launcher } from "../agents/launcher.ts";
import { programFile, programObstacle } from "../agents/program-file.ts";
import type { ProcessIdentity } from "../kernel/agent.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import type { SessionPaths } from "./paths.ts";

export interface ProgramParts {
  readonly session_id: string;
  readonly paths: SessionPaths;
  readonly config: ResolvedConfiguration;
  readonly workspace: string;
  readonly launcher: Launcher;
}

/** One run of the program. */
export interface ProgramOrder {
  readonly command: readonly string[];
  readonly event: string;
  /** How long it may take, in ms; then its group is ended. */
  readonly timeout_ms: number;
  /** Of this process; the program is given of it what a check is given. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Puts on record which process it is, before it is told anything; false if that cannot be. */
  readonly record: (identity: ProcessIdentity) => Promise<boolean>;
  /** What it is told, when its time has come; undefined if there is nothing left to say. */
  readonly words: () => string | undefined;
}

/** Whether the program was run or cannot be run, and what went wrong; not told is only what there was no word for, or no record. */
export interface ProgramOutcome {
  readonly told: boolean;
  readonly trouble?: string;
}

/** Holds the program back until it is on record which process it is and what it is told of. The words stay on its input. */
const GATE = ["sh", "-c", 'read -r go && exec "$@"', "notification"];

/** Of each line of the program's errors so much is kept, in bytes. */
const LINE_BYTES = 2_048;

/** How much of what the program said last stands in a warning, in characters. */
const LAST_WORDS = 200;

/** Runs the program that tells people of something, once, without a shell that would read its command. `signal` ends it. */
export async function runProgram(
  { session_id, paths, config, workspace, launcher }: ProgramParts,
  { command, event, timeout_ms, environment, record, words }: ProgramOrder,
  signal: AbortSignal,
): Promise<ProgramOutcome> {
  const [program = ""] = command;
  const failed = (what: string) => ({
    told: true,
    trouble: `The notification of "${event}" failed: notify.command ${JSON.stringify(program)} ${what}. The session goes on without it.`,
  });
  if (programFile(program, workspace, environment["PATH"]) === undefined) {
    return failed(programObstacle(program, workspace).why);
  }
  const about = { session_id, artifacts_dir: paths.work(undefined), subject: undefined };
  const launched = await launcher.launch({
    // Nothing that it starts outlives it or the scheduler, where the machine can see to that.
    isolation: { level: "processes", required: false },
    command: [...GATE, ...command],
    directory: workspace,
    environment: { ...checkEnvironment(environment, about), BOSUN_EVENT: event },
  });
  if (!launched.ok) return failed(`cannot be started: ${launched.error.message}`);
  const errors = new Errors();
  const limits = {
    timeout_ms,
    idle_timeout_ms: 0,
    kill_grace_ms: config.kill_grace_s * 1000,
    answer_grace_ms: 0,
    max_output_bytes: config.max_output_bytes,
  };
  const run = new SupervisedRun(launched.value, limits, errors, signal);
  crashPoint("notification_spawned");
  const recorded = await record(launched.value.identity);
  crashPoint("notification_pid_committed");
  const told = recorded ? words() : undefined;
  if (told === undefined) {
    run.stop("not_recorded");
    await run.ended;
    return { told: false };
  }
  run.give(`go\n${told}\n`);
  crashPoint("notification_given");
  const end = await run.ended;
  if (signal.aborted) return { told: false };
  const what = troubleOf(end, timeout_ms);
  return what === undefined ? { told: true } : failed(`${what}${errors.lastWords()}`);
}

function troubleOf({ cause, exit }: RunEnd, timeout_ms: number): string | undefined {
  if (cause === "timeout") return `did not end within ${timeout_ms / 1000} s, and was ended`;
  if (cause === "output_limit") return "printed too much, and was ended";
  if (exit?.code === 0) return undefined;
  return exit?.signal ? `was ended by ${exit.signal}` : `exited with ${exit?.code ?? "nothing"}`;
}

/** What the program printed is nobody's, but for the end of its errors. */
class Errors implements RunListener {
  readonly #tail = new StderrTail();

  capOf(): number {
    return LINE_BYTES;
  }

  line(stream: "stdout" | "stderr", bytes: Buffer): undefined {
    if (stream === "stderr") this.#tail.add(bytes.toString("utf8"));
    return undefined;
  }

  lastWords(): string {
    const last = this.#tail.text().split("\n").at(-1) ?? "";
    return last === "" ? "" : `, saying: ${last.slice(-LAST_WORDS).toWellFormed()}`;
  }
}
