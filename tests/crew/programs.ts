import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { type Envelope, validateEnvelope } from "../../src/protocol/envelope.ts";
import { built, compiledOnce } from "../built.ts";

const directories: string[] = [];
const children = new Set<ChildProcess>();

/** An empty directory; `cleanUp` removes it. */
export function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "bosun-crew-"));
  directories.push(path);
  return path;
}

/** For `afterEach`: ends the processes and removes the directories of a test. */
export function cleanUp(): void {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
  for (const path of directories.splice(0)) rmSync(path, { recursive: true, force: true });
}

type CrewProgram = "playbook" | "shell";

export function programFile(program: CrewProgram): string {
  return built("crew", `${program}.js`);
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
}

interface Setting {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

export function start(argv: readonly string[], setting: Setting = {}): Started {
  const env = {
    ...compiledOnce(),
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    ...gitSetting,
    ...setting.env,
  };
  const child = spawn(argv[0] ?? "", argv.slice(1), { cwd: setting.cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  children.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {});
  child.stdin.end(setting.input ?? "");
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      children.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
  return { child, ended };
}

export async function run(argv: readonly string[], setting: Setting = {}): Promise<Ran> {
  return await start(argv, setting).ended;
}

export async function crewRun(program: CrewProgram, args: readonly string[], setting: Setting = {}): Promise<Ran> {
  return await run([process.execPath, programFile(program), ...args], setting);
}

/** A turn as the scheduler asks for it. */
export interface Asked {
  readonly type: string;
  readonly payload: JsonObject;
  readonly expects: readonly string[];
  readonly context?: JsonObject;
  readonly discuss?: boolean;
  readonly workspace?: string;
  readonly artifacts_dir?: string;
}

export function turnLine(asked: Asked): string {
  const payload = {
    turn_id: "t7",
    role_id: "seat",
    expects: asked.expects,
    message: { payload_type: asked.type, payload: asked.payload },
    context: asked.context ?? {},
    ...(asked.discuss === undefined ? {} : { discuss: asked.discuss }),
    workspace: asked.workspace ?? tmpdir(),
    artifacts_dir: asked.artifacts_dir ?? tmpdir(),
  };
  const envelope = {
    session_id: "s1",
    timestamp: "2026-01-02T03:04:05Z",
    source: "scheduler",
    target: "seat",
    payload_type: "turn_request",
    version: "1.0",
    payload,
  };
  return `${JSON.stringify(envelope)}\n`;
}

/** The output of a turn: the envelopes, which are valid, and the other lines. */
export interface Said {
  readonly envelopes: readonly Envelope[];
  readonly console: readonly string[];
}

export function said(stdout: string): Said {
  const lines = stdout.split("\n").filter((line) => line !== "");
  const envelopes = lines.filter((line) => line.startsWith("{")).map((line) => valid(JSON.parse(line) as JsonObject));
  return { envelopes, console: lines.filter((line) => !line.startsWith("{")) };
}

function valid(value: JsonObject): Envelope {
  const checked = validateEnvelope(value);
  if (!checked.ok) throw new Error(`${JSON.stringify(checked.error)}: ${JSON.stringify(value)}`);
  return checked.value;
}

/** The answer to a turn: the last envelope. */
export async function answerOf(
  program: "playbook" | "shell",
  asked: Asked,
  setting: Setting = {},
): Promise<{ type: string; payload: JsonObject }> {
  const ran = await crewRun(program, [], { ...setting, input: turnLine(asked) });
  const last = said(ran.stdout).envelopes.at(-1);
  if (ran.code !== 0 || last === undefined)
    throw new Error(`${program} exited with ${ran.code}: ${ran.stderr}${ran.stdout}`);
  return { type: last.payload_type, payload: last.payload as unknown as JsonObject };
}

const gitSetting = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "init.defaultBranch",
  GIT_CONFIG_VALUE_0: "main",
};

/** A scratch repository. A commit may have a date of its own. */
export interface Scratch {
  readonly root: string;
  write(files: Readonly<Record<string, string | Json>>): void;
  git(...args: string[]): string;
  commit(message: string, date?: string): void;
}

export function scratchRepository(): Scratch {
  const root = directory();
  const git = (...args: string[]): string => {
    const who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgSign=false"];
    return execFileSync("git", [...who, ...args], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, ...gitSetting, ...dates },
    });
  };
  let dates: Record<string, string> = {};
  git("init", "--quiet");
  return {
    root,
    git,
    write(files) {
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(join(root, dirname(path)), { recursive: true });
        writeFileSync(
          join(root, path),
          typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`,
        );
      }
    },
    commit(message, date) {
      dates = date === undefined ? {} : { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
      git("add", "--all");
      git("commit", "--quiet", "--allow-empty", "-m", message);
      dates = {};
    },
  };
}
