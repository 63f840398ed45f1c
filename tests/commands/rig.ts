import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { built, compiledOnce, pathWithBosun } from "../built.ts";

export const ROOT = resolve(import.meta.dirname, "..", "..");
const CLI = built("cli.js");

/** The exit code and the output of a command. */
export interface Done {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that still runs. */
export interface Running {
  readonly child: ChildProcess;
  readonly done: Promise<Done>;
  stdout(): string;
  stderr(): string;
}

/** A temporary home and workspace for one test, and the command line in them. */
export interface Rig {
  readonly home: string;
  readonly workspace: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Writes a file beside home and workspace, and gives its path. */
  write(name: string, content: string): string;
  run(
    args: readonly string[],
    more?: { readonly input?: string; readonly env?: Record<string, string> },
  ): Promise<Done>;
  start(args: readonly string[]): Running;
  /** Starts a program that is no part of Bosun. */
  program(program: string, args: readonly string[]): Running;
  /** The ids of the sessions with a folder in the home. */
  sessions(): string[];
}

export function rig(): Rig {
  const directory = mkdtempSync(join(tmpdir(), "bosun-commands-"));
  const children = new Set<ChildProcess>();
  onTestFinished(async () => {
    for (const child of children) child.kill("SIGKILL");
    await until("the commands to end", () => [...children].every(hasEnded));
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  const home = join(directory, "home");
  const workspace = join(directory, "workspace");
  mkdirSync(workspace);
  const environment: Record<string, string> = {
    ...compiledOnce(),
    PATH: pathWithBosun(),
    HOME: directory,
    XDG_STATE_HOME: join(directory, "state"),
    XDG_CONFIG_HOME: join(directory, "config"),
    TMPDIR: tmpdir(),
    LANG: "C.UTF-8",
    // Commands in this process print times of day in the same zone.
    TZ: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
  const start = (args: readonly string[], env: Record<string, string> = {}, input = ""): Running =>
    started(process.execPath, [CLI, ...args], env, input);
  const started = (program: string, args: readonly string[], env: Record<string, string> = {}, input = ""): Running => {
    const child = spawn(program, args, {
      cwd: workspace,
      env: { ...environment, BOSUN_HOME: home, ...env },
    });
    children.add(child);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const done = new Promise<Done>((settle) => {
      child.once("close", (code, signal) => {
        children.delete(child);
        settle({ code, signal, stdout, stderr });
      });
    });
    return { child, done, stdout: () => stdout, stderr: () => stderr };
  };
  return {
    home,
    workspace,
    environment,
    write(name, content) {
      const file = join(directory, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    run: (args, { input, env } = {}) => start(args, env, input).done,
    start: (args) => start(args),
    program: (program, args) => started(program, args),
    sessions: () => (existsSync(join(home, "sessions")) ? readdirSync(join(home, "sessions")) : []),
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Polls a condition; after the time limit, throws an error with its name. */
export async function until(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  within_ms = 60_000,
): Promise<void> {
  const deadline = performance.now() + within_ms;
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`timed out waiting for ${typeof what === "string" ? what : what()}`);
    await delay(15);
  }
}

/** The JSON values of an output with one in each line, without a line that is still being written. */
export function jsonLines<T>(text: string): T[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}

/** Options under which a turn that fails is not repeated. */
export function withoutRetries(here: Rig, more: object = {}): string[] {
  const settings = { max_retries: 0, max_escalations: 0, retry_backoff_ms: 1, ...more };
  return ["--config", here.write("without-retries.json", JSON.stringify(settings))];
}

/** A manager and a worker that are no part of the product, in Python and in shell. */
export function foreignCrew(): string[] {
  const agents = join(ROOT, "examples", "agents");
  return ["--manager", `python3 ${join(agents, "manager.py")}`, "--worker", `sh ${join(agents, "worker.sh")}`];
}

/** A task of one shell line. It takes one turn, because the plan instructs it and a check reviews it; `more` may change that. */
export interface TinyTask {
  readonly task_id: string;
  readonly shell: string;
  readonly dependencies?: readonly string[];
  readonly more?: object;
}

/** A plan file of such tasks. */
export function tinyPlan(tasks: readonly TinyTask[], more: object = {}): string {
  return JSON.stringify({
    requirement: "Write some files.",
    summary: "One file for each task.",
    tasks: tasks.map(({ task_id, shell, dependencies, more: own }) => ({
      task_id,
      description: `Do ${task_id}`,
      ...(dependencies ? { dependencies } : {}),
      instruction: { summary: `Do ${task_id}`, steps: [{ text: task_id, shell }] },
      acceptance_criteria: [{ text: "always", command: ["true"] }],
      review: "checks",
      ...own,
    })),
    metadata: { playbook: { instruction: "with_plan" } },
    ...more,
  });
}

/** One question whose answer ends up in a file. */
export const ASKING = {
  questions: [
    { question_id: "name", text: "Whose name?", why: "It is written down.", options: ["Ada", "Bob"], default: "Ada" },
  ],
};
