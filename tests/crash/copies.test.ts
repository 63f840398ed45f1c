import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type RepositoryRig, repositoryRig } from "../commands/repository.ts";
import { type Done, type TinyTask, tinyPlan } from "../commands/rig.ts";

/** Of how many distinct calls of git one is killed. All of them take minutes. */
const EVERY = process.env["BOSUN_COPIES_KILLS"] === "all" ? 1 : 4;

/** Six tickets that change one file, two of them the same line, which one of both resolves. */
const TASKS: readonly TinyTask[] = [1, 2, 3, 4, 5, 6].map((number) => {
  const line = number === 6 ? 1 : number;
  const edit = `sed -i 's/^line ${line}$/line ${line} by t${number}/' a.txt`;
  const resolve = `{ git show :1:a.txt || cat a.txt; } 2>/dev/null | sed '/^[<=>|]\\{7\\}/d' | awk '!seen[$0]++' > b && mv b a.txt`;
  return {
    task_id: `t${number}`,
    shell: `if grep -q '<<<<<<<' a.txt; then ${resolve}; fi; ${edit}; echo ${number} > t${number}.txt`,
  };
});

/**
 * A program named `git`, first in the PATH, that kills who started it the first time that it is called with these words: before git runs, in its middle,
 * or after it.
 */
function killingGit(here: RepositoryRig): { readonly PATH: string; readonly kills: () => number } {
  const real = spawnSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).stdout.trim();
  const seen = join(here.write("seen/.keep", ""), "..");
  const file = here.write(
    "fake/git",
    `#!/bin/sh
label=$(printf '%s|%s' "$*" "$GIT_INDEX_FILE" | sed -E 's/[0-9a-f]{40}/H/g; s#/[0-9]+\\.[0-9]+#/N#g; s/@[0-9]+/@T/g' | md5sum | cut -c1-32)
mkdir "${seen}/$label" 2>/dev/null || exec ${real} "$@"
test $(( $(ls "${seen}" | wc -l) % ${EVERY} )) = 0 || exec ${real} "$@"
touch "${seen}/$label/killed"
case $label in
  *[0-4]) ;;
  *[5-9]) timeout -s KILL 0.003 ${real} "$@" ;;
  *) ${real} "$@" ;;
esac
kill -9 $PPID
`,
  );
  chmodSync(file, 0o755);
  const PATH = `${join(file, "..")}:${here.environment["PATH"] ?? ""}`;
  return { PATH, kills: () => readdirSync(seen).filter((label) => existsSync(join(seen, label, "killed"))).length };
}

/** Runs a session until it ends by itself, however often it is killed. */
async function ended(here: RepositoryRig, env: Record<string, string>): Promise<Done> {
  const plan = here.write("plan.json", tinyPlan(TASKS));
  const config = here.write("settings.json", JSON.stringify({ max_recoveries: 1000, checks: { merge: MERGE } }));
  let args = ["run", "--plan", plan, "--config", config, "--session", "s", "--isolation", "worktree", "--base", "HEAD"];
  for (;;) {
    const done = await here.run([...args, "--no-input", "--foreground"], { env });
    if (done.signal !== "SIGKILL") return done;
    const isBegun = (await here.run(["status", "s", "--json"])).code === 0;
    if (isBegun) args = ["resume", "s"];
  }
}

const MERGE = [{ text: "no marks", command: ["sh", "-c", "! grep -q '<<<<<<<' a.txt"] }];

/** Every file of the person's, with its mode, and what is in their `.git`. */
function bytesOf({ workspace }: RepositoryRig): string {
  const list = "find . -type f ! -path './.git/objects/*' -printf '%p %m ' -exec sha1sum {} \\; | sort";
  return createHash("sha1")
    .update(spawnSync("sh", ["-c", list], { cwd: workspace }).stdout)
    .digest("hex");
}

function inSession(here: RepositoryRig, ...words: string[]): string {
  const repository = join(here.home, "sessions", "s", "copies", "repo.git");
  const ran = spawnSync("git", ["--git-dir", repository, ...words], { encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  return ran.stdout.trim();
}

test("a session of six tickets that is killed at its git calls merges each ticket once, and touches nothing of the person's", async () => {
  const here = repositoryRig();
  here.mine("b.txt", "staged\n");
  here.git("add", "b.txt");
  mkdirSync(join(here.workspace, ".git", "hooks"), { recursive: true });
  const before = bytesOf(here);
  const { PATH, kills } = killingGit(here);
  const done = await ended(here, { PATH });
  expect([done.code, done.stderr]).toEqual([0, expect.any(String)]);
  expect(kills()).toBeGreaterThan(EVERY === 1 ? 80 : 15);
  expect(bytesOf(here)).toBe(before);
  const trailers = inSession(
    here,
    "log",
    "--first-parent",
    "--format=%(trailers:key=Bosun-Ticket,valueonly,separator=)",
    "refs/bosun/base..refs/bosun/session",
  );
  expect(trailers.split("\n").toSorted((a, b) => a.localeCompare(b))).toEqual(TASKS.map(({ task_id }) => task_id));
  for (const { task_id } of TASKS) inSession(here, "cat-file", "-e", `refs/bosun/session:${task_id}.txt`);
  inSession(here, "fsck", "--no-dangling", "--strict");
  expect((await here.run(["replay", "s", "--verify"])).code).toBe(0);
  const landed = await here.run(["merge", "s", "--into", "result"]);
  expect(landed.code).toBe(0);
  expect(readFileSync(join(here.workspace, "b.txt"), "utf8")).toBe("staged\n");
}, 600_000);
