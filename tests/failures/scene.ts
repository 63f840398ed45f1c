import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import { lockPath } from "../../src/store/lock.ts";
import { isLocked } from "../../src/store/lock.ts";
import { openReader } from "../../src/store/sqlite-store.ts";
import { built } from "../built.ts";
import { shell } from "../runtime/roles.ts";
import { MODES } from "../runtime/sessions.ts";
import { living } from "../processes.ts";
import { value } from "../results.ts";

/** Every call that there is is tried, and not a sample of each kind. */
export const ALL = process.env.BOSUN_FAILURES === "all";

/** How long the trials of one command may take, in ms. */
export const TRIALS_TIMEOUT_MS = ALL ? 7_200_000 : 600_000;

/** Long beyond anything that goes right, in ms: whoever takes longer hangs. */
const WATCHDOG_MS = 60_000;

let scenes = 0;
let commands = 0;

const PRELOAD = join(import.meta.dirname, "children", "nth-failure.mjs");

/** What fails in a command: see `children/nth-failure.mjs`. */
export interface Fault {
  readonly at?: number;
  readonly as?: "full" | "broken" | "read_only";
  readonly how?: "before" | "half" | "after" | "ever";
  /** A pattern: only calls that fit are counted. */
  readonly of?: string;
  /** The type that every file system gives. */
  readonly statfs?: number;
  /** A command that starts the command. */
  readonly under?: readonly string[];
  /** What the command's environment has besides. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A call that changes storage, or asks a database. */
export interface Call {
  readonly kind: string;
  readonly what: string;
  /** The function that made it. */
  readonly site: string;
}

/** What a command left. */
export interface Done {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly hung: boolean;
  readonly calls: readonly Call[];
}

/** A scratch place with a crew, in which the same session is run again and again. */
export interface Scene {
  readonly directory: string;
  readonly home: string;
  readonly workspace: string;
  readonly session_id: string;
  /** The command that begins the session, without an answer to what it asks. */
  readonly beginning: readonly string[];
  /** The session, from its beginning to its end. */
  run(fault?: Fault): Promise<Done>;
  resume(fault?: Fault): Promise<Done>;
  /** Any other command in this home. */
  command(args: readonly string[], fault?: Fault): Promise<Done>;
}

const ASKS_AND_PLANS = `
case $request in
*'"clarifications":[{'*)
  say plan '{"summary":"Two files.","tasks":[
    {"task_id":"a","description":"Write a","expected_outputs":["a.txt"],"instruction":{"summary":"Write a"},
     "review":"checks","acceptance_criteria":[{"text":"a is there","command":["test","-s","a.txt"]}]},
    {"task_id":"b","description":"Write b","dependencies":["a"],"expected_outputs":["b.txt"],"instruction":{"summary":"Write b"},
     "review":"checks","acceptance_criteria":[{"text":"b is there","command":["test","-s","b.txt"]}]}]}' | tr -d '\\n'
  echo ;;
*) say clarification '{"status":"open","questions":[{"question_id":"reader","text":"Who reads it?","default":"all"}]}' ;;
esac`;

// The first try of the first task fails, so that there is a retry with its timer.
const WRITES = `
echo "at work on $BOSUN_TICKET_ID" >&2
if [ "$BOSUN_TICKET_ID$BOSUN_ATTEMPT" = a1 ]; then exit 1; fi
echo "$BOSUN_TICKET_ID" >"$BOSUN_TICKET_ID.txt"
say artifact_ref '{"label":"'$BOSUN_TICKET_ID'.txt","uri":"'$BOSUN_TICKET_ID'.txt"}'
say report '{"status":"completed","summary":"Written.","outputs":["'$BOSUN_TICKET_ID'.txt"]}'`;

/** Which turns were worked on stands in the workspace. */
const NOTED = 'echo "$BOSUN_TURN_ID" >>starts';

function rolesWith(mischief: string): object {
  const once = `
home=\${BOSUN_ARTIFACTS_DIR%/sessions/*}
if [ "$BOSUN_TICKET_ID" = b ] && mkdir meddled 2>/dev/null; then ${mischief}
fi`;
  const worker = shell(NOTED + (mischief === "" ? WRITES : once + WRITES));
  return {
    roles: [
      { role_id: "boss", type: "manager", sandbox: "none", cli_command: shell(NOTED + ASKS_AND_PLANS) },
      { role_id: "hand", type: "worker", sandbox: "none", cli_command: worker, supports_multiple_instances: true },
    ],
  };
}

const CONFIG = { plan_approval: "never", retry_backoff_ms: 1, kill_grace_s: 1 };

/** `mischief`: shell text that the second task's worker runs first, once; `$home` is the home. */
export function newScene(session_id = nextSessionId(), mischief = ""): Scene {
  const directory = mkdtempSync(join(tmpdir(), "bosun-failures-"));
  const [home, workspace] = [join(directory, "home"), join(directory, "workspace")];
  mkdirSync(workspace);
  writeFileSync(join(directory, "roles.json"), JSON.stringify(rolesWith(mischief)));
  writeFileSync(join(directory, "config.json"), JSON.stringify(CONFIG));
  const inputs = ["--roles", join(directory, "roles.json"), "--config", join(directory, "config.json")];
  const runOptions = ["--foreground", "--no-input", "--reporter", "plain"];
  const beginning = ["run", "Write two files", ...inputs, ...runOptions, "--session", session_id];
  const command = (args: readonly string[], fault?: Fault) => carriedOut(directory, args, fault);
  return {
    directory,
    home,
    workspace,
    session_id,
    command,
    beginning,
    run: (fault) => command([...beginning, "--answer", "c1.reader=me"], fault),
    resume: (fault) => command(["resume", session_id, ...runOptions, "--answer", "c1.reader=me"], fault),
  };
}

/** Never the same twice on a machine: whoever looks for what a session has left running looks for its id. */
function nextSessionId(): string {
  scenes += 1;
  return `s-failing-${process.pid}-${scenes}`;
}

/** A copy of another scene, as it stands, with its modes. */
export function copied(scene: Scene): Scene {
  const copy = newScene(scene.session_id);
  execFileSync("cp", ["-a", scene.home, copy.home]);
  return copy;
}

export function leave(scene: Scene): void {
  rmSync(scene.directory, { recursive: true, force: true, maxRetries: 5 });
}

async function carriedOut(directory: string, args: readonly string[], fault?: Fault): Promise<Done> {
  commands += 1;
  const report = join(directory, `calls-${commands}.json`);
  const preload = fault && !fault.under ? ["--import", PRELOAD] : [];
  const command = [process.execPath, ...preload, built("cli.js"), "--home", join(directory, "home"), ...args];
  const [program = "", ...rest] = fault?.under ? [...fault.under, ...command] : command;
  const child = spawn(program, rest, {
    cwd: join(directory, "workspace"),
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      HOME: directory,
      LANG: "C.UTF-8",
      FAILURES_REPORT: report,
      ...(fault?.at === undefined ? {} : { FAILURES_AT: String(fault.at) }),
      ...(fault?.as === undefined ? {} : { FAILURES_AS: fault.as }),
      ...(fault?.how === undefined ? {} : { FAILURES_HOW: fault.how }),
      ...(fault?.of === undefined ? {} : { FAILURES_OF: fault.of }),
      ...(fault?.statfs === undefined ? {} : { FAILURES_STATFS: String(fault.statfs) }),
      ...fault?.environment,
    },
  });
  let [stdout, stderr, hung] = ["", "", false];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const watchdog = setTimeout(() => {
    hung = true;
    child.kill("SIGKILL");
  }, WATCHDOG_MS);
  const code = await new Promise<number | null>((settle) => child.once("close", settle));
  clearTimeout(watchdog);
  const calls = existsSync(report) ? (JSON.parse(readFileSync(report, "utf8")) as Call[]) : [];
  return { code, stdout, stderr, hung, calls };
}

/** The final report without what a failure and a recovery may change. */
export function reportOf({ home, session_id }: Scene): JsonObject {
  const text = readFileSync(join(home, "sessions", session_id, "final_report.json"), "utf8");
  const {
    started_at: _s,
    finished_at: _f,
    usage: _u,
    recoveries: _r,
    log: _l,
    ...rest
  } = JSON.parse(text) as JsonObject;
  const tickets = listOf(rest["tickets"]).map(objectOf);
  const essential = { ...rest, tickets: tickets.map(({ usage: _usage, ...ticket }) => ticket) };
  return JSON.parse(JSON.stringify(essential).replaceAll(home, "HOME").replaceAll(session_id, "SESSION")) as JsonObject;
}

/** What is wrong with a command that met a fault, in words. */
export function faultsOfEnd(done: Done, expected: readonly number[]): string[] {
  const said = `${done.stdout}\n${done.stderr}`;
  return [
    ...(done.hung ? ["it hung"] : []),
    ...(done.code !== null && expected.includes(done.code) ? [] : [`exit code ${done.code}`]),
    ...(/\n\s+at \S+.*:\d+/.test(said) ? ["it shows a stack trace"] : []),
  ];
}

/** What is wrong with the message of a command that storage has failed, in words. */
export function faultsOfMessage({ directory }: Scene, done: Done): string[] {
  const lines = done.stderr.split("\n").filter((line) => line.trim() !== "");
  return [
    ...(lines.length >= 1 && lines.length <= 3 ? [] : [`${lines.length} lines on stderr`]),
    ...(lines.filter((line) => line.startsWith("Error: ")).length <= 1 ? [] : ["more than one error"]),
    ...(done.stderr.includes(directory) ? [] : ["no path in the message"]),
  ];
}

/** What a session must not have left, in words. */
export async function faultsOfRest(scene: Scene): Promise<string[]> {
  const { home, session_id } = scene;
  const faults = living(session_id).map((pid) => `process ${pid} lives`);
  if (isLocked(lockPath(home, session_id))) faults.push("the lock is held");
  const database = new SqliteDatabase(join(home, "bosun.db"));
  try {
    const found = database.pragma("integrity_check", { simple: true });
    if (found !== "ok") faults.push(`integrity_check: ${String(found)}`);
  } finally {
    database.close();
  }
  const folder = join(home, "logs", session_id);
  const proof = value(verifySession(folder, MODES));
  faults.push(...proof.problems.map(({ sequence, what }) => `record ${sequence}: ${what}`));
  if (!proof.ok) faults.push(`the log is ${proof.completeness}, its decisions ${proof.decisions}`);
  const reader = value(openReader(home));
  try {
    const row = value(reader.session(session_id));
    if (row.last_sequence !== proof.records) faults.push(`${proof.records} files for ${row.last_sequence} records`);
  } finally {
    reader.close();
  }
  const left = [folder, join(home, "sessions", session_id), join(home, "sessions", session_id, "artifacts")].flatMap(
    (place) => readdirSync(place).filter((name) => /\.(tmp|partial|publishing)$/.test(name)),
  );
  return [...faults, ...left.map((name) => `${name} is left`)];
}

/** Numbers from 1, such that each kind of call by each function is there, and of what is done often a few more. */
export function sample(calls: readonly Call[]): number[] {
  const seen = new Map<string, number>();
  return calls.flatMap(({ kind, what, site }, index) => {
    const [verb = ""] = what.split(" ");
    const key = `${kind} ${site} ${/^[A-Z]+$/.test(verb) ? verb : ""}`;
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    return times === 1 || times % 20 === 0 ? [index + 1] : [];
  });
}

/** Does the work for each, so many at once, and gives together what was found. */
export async function atOnce<T>(
  all: readonly T[],
  work: (one: T) => Promise<string[]>,
  workers: number,
): Promise<string[]> {
  const waiting = all.values();
  const found: string[] = [];
  const worker = async () => {
    for (const one of waiting) found.push(...(await work(one)));
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return found;
}
