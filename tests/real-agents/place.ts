import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { built, compiledOnce, pathWithBosun } from "../built.ts";
import { jsonLines } from "../commands/rig.ts";
import { clientEnvironment } from "../model-servers/clients.ts";
import type { Model } from "../model-servers/conversation.ts";
import { ModelServer } from "../model-servers/server.ts";
import { killStray, living } from "../processes.ts";
import { agentsCache } from "./install.ts";

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command printed, if it did not exit with this code: for a test that fails. */
export function outputUnless(expected: number, { code, stdout, stderr }: Ended): string {
  return code === expected ? "" : `exit ${code}\n${stdout}${stderr}`;
}

/** A command that still runs. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/**
 * A home, a git repository and a model server for one test, and the command line in them. Its programs see these and nothing of the
 * machine's environment: no key, no proxy, no configuration.
 */
export interface Place {
  readonly server: ModelServer;
  readonly workspace: string;
  readonly environment: Record<string, string>;
  start(args: readonly string[]): Running;
  bosun(...args: readonly string[]): Promise<Ended>;
  /** Writes a file beside the workspace, and gives its path. */
  write(name: string, content: string | object): string;
  /** The text of a file of the workspace. */
  read(name: string): string;
  has(name: string): boolean;
  status(): Promise<Status>;
  records(): Promise<readonly LogRecord[]>;
}

/** What `status --json` says. */
export interface Status {
  readonly session_id: string;
  readonly state: string;
  readonly outcome: string | null;
  readonly tickets: readonly (JsonObject & { readonly ticket_id: string; readonly status: string })[];
  readonly holds: readonly (JsonObject & { readonly reason: string; readonly until?: string })[];
  readonly pending_questions: readonly JsonObject[];
  readonly usage: {
    readonly turns: number;
    readonly input_tokens: number;
    readonly output_tokens: number;
  } & JsonObject;
}

export async function placeWith(model: Model): Promise<Place> {
  // Codex does not sandbox commands if its home is below the directory for temporary files.
  const directory = mkdtempSync("/var/tmp/bosun-agents-");
  const [workspace, home, temporary] = ["workspace", "home", "temporary"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [workspace, home, temporary]) mkdirSync(folder);
  const server = await ModelServer.start(model);
  const environment = {
    ...compiledOnce(),
    PATH: `${join(agentsCache(), "node_modules", ".bin")}:${pathWithBosun()}`,
    TMPDIR: temporary,
    BOSUN_HOME: join(directory, "bosun"),
    LANG: "C.UTF-8",
    ...clientEnvironment(server.url, home),
  };
  repository(workspace, environment);
  const children = new Set<ChildProcess>();
  const start = (args: readonly string[]): Running => {
    const child = spawn(process.execPath, [built("bin.js"), ...args], { cwd: workspace, env: environment });
    children.add(child);
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdin.end();
    const ended = new Promise<Ended>((settle) => {
      child.once("close", (code) => {
        children.delete(child);
        settle({ code, stdout, stderr });
      });
    });
    return { child, ended };
  };
  const bosun = (...args: readonly string[]): Promise<Ended> => start(args).ended;
  const json = async <T>(...args: readonly string[]): Promise<T[]> => jsonLines<T>((await bosun(...args)).stdout);

  onTestFinished(async () => {
    const sessions = join(directory, "bosun", "sessions");
    const session_ids = existsSync(sessions) ? readdirSync(sessions) : [];
    for (const child of children) child.kill("SIGKILL");
    const left = session_ids.flatMap((id) => living(id));
    for (const pid of left) killStray(pid);
    const proofs = await Promise.all(session_ids.map((id) => bosun("replay", id, "--verify")));
    await server.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    expect({ left, proofs: proofs.map(({ code, stdout }) => (code === 0 ? "verified" : stdout)) }).toEqual({
      left: [],
      proofs: session_ids.map(() => "verified"),
    });
  });

  return {
    server,
    workspace,
    environment,
    start,
    bosun,
    write(name, content) {
      const file = join(directory, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
      return file;
    },
    read: (name) => readFileSync(join(workspace, name), "utf8"),
    has: (name) => existsSync(join(workspace, name)),
    async status() {
      const [listed] = (await json<{ session_id: string }[]>("status", "--all", "--json"))[0] ?? [];
      const [status] = await json<Status>("status", listed?.session_id ?? "", "--json");
      if (status === undefined) throw new Error("there is no session");
      return status;
    },
    records: () => json<LogRecord>("replay", "--json"),
  };
}

function repository(folder: string, env: Record<string, string>): void {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, env, stdio: "ignore" });
  writeFileSync(join(folder, "README.md"), "# Notes\n");
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Test");
  git("config", "user.email", "test@example.org");
  git("add", "README.md");
  git("commit", "--quiet", "--message", "Begin");
}
