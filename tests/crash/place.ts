import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { LogRecord } from "../../src/protocol/record.ts";
import { built, compiledOnce, pathWithBosun } from "../built.ts";
import type { Scenario } from "./scenarios.ts";
import { recordsIn } from "../log-files.ts";

const CLI = built("cli.js");

/** Grace periods that bound the cost of a crash, long enough for a busy machine. */
const CONFIGURATION = {
  max_workers: 2,
  max_retries: 1,
  retry_backoff_ms: 30,
  kill_grace_s: 1,
  answer_grace_s: 1,
  max_recoveries: 50,
};

/** A home and a workspace for one session. */
export interface Place {
  readonly directory: string;
  readonly home: string;
  readonly workspace: string;
  readonly session_id: string;
  readonly scenario: Scenario;
}

/** The exit and output of a process. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

const directories = new Set<string>();
const children = new Set<ChildProcess>();
let made = 0;

export function newPlace(scenario: Scenario): Place {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "bosun-crash-")));
  directories.add(directory);
  made += 1;
  const workspace = join(directory, "workspace");
  mkdirSync(workspace);
  writeFileSync(join(directory, "roles.json"), JSON.stringify({ roles: scenario.roles }));
  writeFileSync(
    join(directory, "config.json"),
    JSON.stringify({ ...CONFIGURATION, plan_approval: "never", ...scenario.config }),
  );
  const plan = { summary: "The plan", tasks: scenario.tasks ?? [] };
  writeFileSync(join(workspace, "plan.json"), `${JSON.stringify(plan)}\n`);
  if (scenario.input) writeFileSync(join(workspace, "input.json"), JSON.stringify(scenario.input));
  const session_id = `s-${scenario.name}-${process.pid}-${made}`;
  return { directory, home: join(directory, "home"), workspace, session_id, scenario };
}

/** Starts the program in this place. `crash_at` is `BOSUN_CRASH_AT`; `hear` gets each line of output. */
export function start(
  place: Place,
  args: readonly string[],
  { crash_at, hear }: { readonly crash_at?: string | undefined; readonly hear?: (line: string) => void } = {},
): Started {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: place.workspace,
    env: {
      ...compiledOnce(),
      PATH: pathWithBosun(),
      HOME: place.directory,
      BOSUN_HOME: place.home,
      TMPDIR: place.directory,
      ...(crash_at === undefined ? {} : { BOSUN_CRASH_AT: crash_at }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  if (hear) createInterface({ input: child.stdout }).on("line", hear);
  const ended = new Promise<Ended>((settle) => {
    child.once("close", (code, signal) => {
      children.delete(child);
      settle({ code, signal, stdout, stderr });
    });
  });
  return { child, ended };
}

/** The arguments that begin the session, or another one with its roles. */
export function begin({ scenario, directory, session_id }: Place, words = scenario.begin, id = session_id): string[] {
  const files = ["--roles", join(directory, "roles.json"), "--config", join(directory, "config.json")];
  return [...words, ...files, "--session", id, "--json", "--no-input"];
}

export function resume({ scenario, session_id }: Place): string[] {
  return ["resume", session_id, "--json", "--no-input", ...(scenario.resume ?? [])];
}

/** The session's records, in order. */
export function logOf({ home, session_id }: Place): LogRecord[] {
  return recordsIn(join(home, "logs", session_id));
}

export function leave(place: Place): void {
  rmSync(place.directory, { recursive: true, force: true, maxRetries: 5 });
  directories.delete(place.directory);
}

/** For `afterEach`: ends processes and removes directories. */
export async function cleanUp(): Promise<void> {
  const gone = [...children].map((child) => new Promise<void>((resolve) => void child.once("close", () => resolve())));
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(gone);
  for (const directory of directories) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  directories.clear();
}
