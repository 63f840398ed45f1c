import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Rig, rig, type TinyTask, tinyPlan } from "./rig.ts";
import { typed } from "./in-process.ts";

/** A rig whose workspace is a repository of a person's, with `a.txt` of 9 lines and `b.txt`. */
export interface RepositoryRig extends Rig {
  /** What the person's own git prints; throws if it fails. */
  git(...words: string[]): string;
  /** Writes a file of the person's. */
  mine(name: string, text: string): void;
  /** All files of the person's, and where their branches are. */
  state(): string;
}

export function repositoryRig(): RepositoryRig {
  const here = rig();
  const git = (...words: string[]) => shell(here, "git", words);
  const mine = (name: string, text: string) => writeFileSync(join(here.workspace, name), text);
  git("init", "-q", "-b", "main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  mine("a.txt", Array.from({ length: 9 }, (_, at) => `line ${at + 1}\n`).join(""));
  mine("b.txt", "b\n");
  git("add", ".");
  git("commit", "-qm", "base");
  const state = () =>
    [git("for-each-ref"), git("status", "--porcelain"), shell(here, "sh", ["-c", "cat *"])].join("\n");
  return { ...here, git, mine, state };
}

function shell({ workspace, environment }: Rig, program: string, words: readonly string[]): string {
  const ran = spawnSync(program, words, { cwd: workspace, env: environment, encoding: "utf8", timeout: 30_000 });
  if (ran.status !== 0) throw new Error(`${program} ${words.join(" ")}: ${ran.status} ${ran.stdout}${ran.stderr}`);
  return ran.stdout.trimEnd();
}

/** Changes a line, removes a file and makes one, by two tickets. */
const WORK: readonly TinyTask[] = [
  { task_id: "one", shell: "sed -i 's/^line 3$/three/' a.txt; rm b.txt" },
  { task_id: "two", shell: "echo two > two.txt" },
];

/** Runs a session `s` whose tickets work in copies, and returns its exit code. */
export async function ran(
  here: RepositoryRig,
  tasks: readonly TinyTask[] = WORK,
  { config = {}, session = "s" }: { readonly config?: object; readonly session?: string } = {},
): Promise<number> {
  const settings = { max_retries: 0, max_escalations: 0, retry_backoff_ms: 1, ...config };
  const { code } = await typed(here, [
    ...["run", "--plan", here.write("plan.json", tinyPlan(tasks)), "--session", session],
    ...["--isolation", "worktree", "--config", here.write("settings.json", JSON.stringify(settings))],
  ]);
  return code;
}

export async function done(
  here: RepositoryRig,
  ...more: [tasks?: readonly TinyTask[], config?: object]
): Promise<void> {
  expect(await ran(here, more[0], { config: more[1] ?? {} })).toBe(0);
}

/** A program named `git`, first in the PATH, that kills who started it at a command, and stays; its pid is in `left`. Not in a repository of the session, unless `exceptIn` is empty. */
export function gitThatKills(here: Rig, command: string, exceptIn = "$GIT_DIR"): Record<string, string> {
  const [, real = ""] = /^(.*)$/m.exec(spawnSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).stdout) ?? [];
  const left = here.write("left", "");
  const script = `#!/bin/sh\ncase " $* " in *" ${command} "*) test -n "${exceptIn}" || { echo $$ > ${left}; kill -9 $PPID; exec sleep 60; };; esac\nexec ${real} "$@"\n`;
  const file = here.write("fake/git", script);
  spawnSync("chmod", ["+x", file]);
  return { PATH: `${join(file, "..")}:${here.environment["PATH"] ?? ""}` };
}
