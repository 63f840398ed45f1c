import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { land, type Landing, landings, moveSession, recoverLanding } from "../../src/copies/landing.ts";
import { planMerge, planUndo } from "../../src/copies/landing-plan.ts";
import { failureOf, value } from "../results.ts";
import { AT, begun, contents, lines, merged, type Rig, rig, shell } from "./rig.ts";

const WORK =
  "sed -i 's/^line 3$/three/' a.txt; rm b.txt; echo w > w.txt; mkdir -p deep/in; echo d > deep/d.txt; echo e > deep/in/e.txt";

const aimOf = (at: Rig, branch = "refs/heads/main") => ({
  root: at.root,
  branch,
  subject: "Merge s-1",
  at: AT,
});

/** A session in which one ticket is merged. */
async function session(command = WORK): Promise<Rig> {
  const at = rig();
  await begun(at);
  await merged(at, "T", command);
  return at;
}

async function plannedIn(at: Rig, branch?: string, options: { squash?: boolean } = {}): Promise<Landing> {
  const plan = value(await planMerge(at.place, aimOf(at, branch), options));
  if (plan.state !== "planned") throw new Error(JSON.stringify(plan));
  return plan.landing;
}

async function landed(at: Rig, branch?: string, options?: { squash?: boolean }): Promise<Landing> {
  const landing = await plannedIn(at, branch, options);
  expect(value(await land(at.place, landing))).toEqual({ state: "landed" });
  expect(existsSync(join(at.place.folder, "landing.json"))).toBe(false);
  return landing;
}

describe("merging into a person's branch", () => {
  test("writes exactly the files that differ, beside changes of the person's, and runs no hook", async () => {
    const at = await session();
    for (const hook of ["post-checkout", "reference-transaction", "post-merge", "pre-commit"]) {
      at.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${at.folder}/sprung\nexit 1\n`);
      chmodSync(join(at.root, ".git/hooks", hook), 0o755);
    }
    at.write("src/x.js", "mine, not committed\n");
    at.write("mine.txt", "mine\n");
    const landing = await plannedIn(at);
    const before = contents(at.root);
    expect(at.run("rev-parse", "main")).toBe(landing.old);
    expect(value(await land(at.place, landing))).toEqual({ state: "landed" });
    expect(at.run("-c", "core.hooksPath=/dev/null", "status", "--porcelain").split("\n")).toEqual([
      " M src/x.js",
      "?? mine.txt",
    ]);
    expect(at.run("rev-parse", "main", "HEAD^1")).toBe(`${landing.made}\n${landing.old}`);
    expect(readFileSync(join(at.root, "a.txt"), "utf8")).toBe(lines({ 3: "three" }));
    const after = contents(at.root);
    const changed = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
    expect(changed.filter((name) => !/^\.git\/(?:logs|refs)\//.test(name)).toSorted()).toEqual([
      ".git/index",
      "a.txt",
      "b.txt",
      "deep/d.txt",
      "deep/in/e.txt",
      "w.txt",
    ]);
    expect(existsSync(join(at.folder, "sprung"))).toBe(false);
    expect(at.run("log", "-1", "--format=%(trailers:only)")).toContain("Bosun-Session: s-1");
  });

  test("plans without a write, is one commit if squashed, and is refused when there is nothing", async () => {
    const at = await session();
    const before = contents(at.root);
    await plannedIn(at, "refs/heads/main", { squash: true });
    expect(contents(at.root)).toEqual(before);
    const { old } = await landed(at, "refs/heads/main", { squash: true });
    expect(at.run("log", "-1", "--format=%P")).toBe(old);
    const other = await session();
    await landed(other);
    expect(failureOf(await planMerge(other.place, aimOf(other))).code).toBe("usage");
    expect(failureOf(await planMerge(other.place, aimOf(other, "refs/heads/a..b"))).code).toBe("usage");
    expect(failureOf(await planMerge(other.place, aimOf(other, "refs/tags/x"))).code).toBe("usage");
  });

  test("moves a branch that is not checked out, makes one that is missing, and writes into the work tree of another", async () => {
    const at = await session();
    at.run("branch", "side");
    at.run("worktree", "add", "-q", "-b", "third", "../third");
    const before = contents(at.root);
    const ours = (name: string) => !/^\.git\/(?:refs|logs|worktrees)\//.test(name);
    await landed(at, "refs/heads/side");
    const made = await landed(at, "refs/heads/new");
    await landed(at, "refs/heads/third");
    expect(at.run("show", "side:w.txt")).toBe("w");
    expect([made.old, at.run("show", "new:w.txt")]).toEqual(["", "w"]);
    expect(readFileSync(join(at.folder, "third/w.txt"), "utf8")).toBe("w\n");
    expect(shell(join(at.folder, "third"), at.environment, "git", ["status", "--porcelain"])).toBe("");
    const kept = (all: Record<string, string>) => Object.entries(all).filter(([name]) => ours(name));
    expect(kept(contents(at.root))).toEqual(kept(before));
  });

  test("brings in what the branch got meanwhile, and names the files of a conflict", async () => {
    const at = await session();
    at.write("src/x.js", "later\n");
    at.run("commit", "-qam", "later");
    await landed(at);
    expect([readFileSync(join(at.root, "src/x.js"), "utf8"), at.run("status", "--porcelain")]).toEqual(["later\n", ""]);
    const other = await session();
    other.write("a.txt", lines({ 3: "mine" }));
    other.run("commit", "-qam", "mine");
    const before = contents(other.root);
    expect(value(await planMerge(other.place, aimOf(other)))).toMatchObject({ state: "refused", paths: ["a.txt"] });
    expect(contents(other.root)).toEqual(before);
  });

  const IN_THE_WAY: Readonly<Record<string, readonly [set: (at: Rig) => void, paths: string[]]>> = {
    "a changed file": [(at) => at.write("a.txt", "mine\n"), ["a.txt"]],
    "a staged file": [(at) => (at.write("a.txt", "mine\n"), at.run("add", "a.txt")), ["a.txt"]],
    "a file that is removed": [(at) => rmSync(join(at.root, "a.txt")), ["a.txt"]],
    "a file that git does not know": [(at) => at.write("w.txt", "mine\n"), ["w.txt"]],
    "an ignored file": [(at) => (at.write("w.txt", "mine\n"), at.write(".git/info/exclude", "w.txt\n")), ["w.txt"]],
    "an ignored folder": [
      (at) => (at.write("w.txt/mine", "mine\n"), at.write(".git/info/exclude", "w.txt\n")),
      ["w.txt"],
    ],
    "a file in the place of a folder": [(at) => at.write("deep", "mine\n"), ["deep/d.txt", "deep/in/e.txt"]],
    "a file in the place of a folder below an unknown one": [(at) => at.write("deep/in", "mine\n"), ["deep/in/e.txt"]],
    "a link in the place of a folder": [
      (at) => symlinkSync("../outside", join(at.root, "deep")),
      ["deep/d.txt", "deep/in/e.txt"],
    ],
    "a file that git is told not to look at": [
      (at) => (at.run("update-index", "--assume-unchanged", "a.txt"), at.write("a.txt", "mine\n")),
      ["a.txt"],
    ],
    "a file that a sparse checkout keeps": [
      (at) => (at.run("update-index", "--skip-worktree", "a.txt"), at.write("a.txt", "mine\n")),
      ["a.txt"],
    ],
    "a merge": [(at) => at.write(".git/MERGE_HEAD", "x\n"), ["MERGE_HEAD"]],
    "a rebase": [(at) => mkdirSync(join(at.root, ".git/rebase-merge")), ["rebase-merge"]],
    "git at work": [(at) => at.write(".git/index.lock", ""), ["index.lock"]],
  };

  test.for(Object.entries(IN_THE_WAY))("is refused for %s, and changes nothing", async ([, [set, paths]]) => {
    const at = await session();
    set(at);
    const before = contents(at.root);
    const landing = await plannedIn(at);
    expect(value(await land(at.place, landing))).toMatchObject({ state: "refused", paths });
    expect(contents(at.root)).toEqual(before);
    expect(value(await recoverLanding(at.place))).toBeUndefined();
  });

  test("does not count an unknown folder in which nothing is in the way", async () => {
    const at = await session();
    at.write("deep/mine.txt", "mine\n");
    await landed(at);
    expect(readFileSync(join(at.root, "deep/d.txt"), "utf8")).toBe("d\n");
    expect(readFileSync(join(at.root, "deep/mine.txt"), "utf8")).toBe("mine\n");
  });

  test("is refused if the branch has moved since the plan", async () => {
    const at = await session();
    const landing = await plannedIn(at);
    at.run("commit", "-q", "--allow-empty", "-m", "later");
    expect(value(await land(at.place, landing))).toMatchObject({ state: "refused", cause: "moved" });
  });
});

describe("a merge that was killed", () => {
  /** As a kill leaves it: journal, locks, some files written, one cut short. */
  async function killed(): Promise<readonly [Rig, Landing]> {
    const at = await session();
    const landing = await plannedIn(at);
    writeFileSync(join(at.place.folder, "landing.json"), JSON.stringify(landing));
    at.write("a.txt", lines({ 3: "three" }));
    at.write("w.txt", "");
    for (const lock of ["index.lock", "HEAD.lock", "refs/heads/main.lock"]) at.write(`.git/${lock}`, "");
    return [at, landing];
  }

  test("is ended, and until then there is no other", async () => {
    const [at, landing] = await killed();
    expect(failureOf(await land(at.place, landing)).code).toBe("busy");
    expect(value(await recoverLanding(at.place))).toEqual(landing);
    expect([at.run("status", "--porcelain"), at.run("rev-parse", "main")]).toEqual(["", landing.made]);
    expect(existsSync(join(at.root, "b.txt"))).toBe(false);
    expect(value(await recoverLanding(at.place))).toBeUndefined();
  });

  test("stops at a file that somebody changed since, and names it", async () => {
    const [at] = await killed();
    at.write("a.txt", "mine, since\n");
    const before = readFileSync(join(at.root, ".git/index"));
    expect(failureOf(await recoverLanding(at.place))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("a.txt"),
    });
    expect([
      readFileSync(join(at.root, "a.txt"), "utf8"),
      readFileSync(join(at.root, ".git/index")).equals(before),
    ]).toEqual(["mine, since\n", true]);
    at.write("a.txt", lines());
    expect(value(await recoverLanding(at.place))).toBeDefined();
    expect(at.run("status", "--porcelain")).toBe("");
  });

  test("stops at a branch that has moved since", async () => {
    const [at, landing] = await killed();
    for (const lock of ["index.lock", "HEAD.lock", "refs/heads/main.lock"]) rmSync(join(at.root, ".git", lock));
    at.run("commit", "-q", "--allow-empty", "-m", "later");
    expect(failureOf(await recoverLanding(at.place))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("refs/heads/main"),
    });
    expect(at.run("rev-parse", "main")).not.toBe(landing.made);
  });

  test("is only noted if the branch was moved already, and can be taken back", async () => {
    const [at, landing] = await killed();
    value(await recoverLanding(at.place));
    expect(landings(at.place)).toEqual([landing]);
    rmSync(join(at.place.folder, "landed.json"));
    writeFileSync(join(at.place.folder, "landing.json"), JSON.stringify(landing));
    at.write("a.txt", "mine, since\n");
    expect(value(await recoverLanding(at.place))).toEqual(landing);
    expect(readFileSync(join(at.root, "a.txt"), "utf8")).toBe("mine, since\n");
    expect(landings(at.place)).toEqual([landing]);
  });
});

describe("undo", () => {
  test("takes a merge back by a commit, keeps later work, and is done once", async () => {
    const at = await session();
    const landing = await landed(at);
    at.write("later.txt", "later\n");
    at.run("add", ".");
    at.run("commit", "-qm", "later");
    const plan = value(await planUndo(at.place, aimOf(at), landing));
    if (plan.state !== "planned") throw new Error(plan.why);
    expect(landings(at.place)).toEqual([landing]);
    value(await land(at.place, plan.landing));
    expect(landings(at.place)).toEqual([]);
    expect(at.run("diff", landing.from, "HEAD", "--name-only")).toBe("later.txt");
    expect([at.run("status", "--porcelain"), at.run("merge-base", landing.made, "HEAD")]).toEqual(["", landing.made]);
    expect(failureOf(await planUndo(at.place, aimOf(at), landing))).toMatchObject({
      code: "usage",
      message: expect.stringContaining("undone"),
    });
  });

  test("names the files that later commits changed, and a branch without the merge", async () => {
    const at = await session();
    const landing = await landed(at);
    at.write("a.txt", lines({ 3: "mine" }));
    at.run("commit", "-qam", "later");
    expect(value(await planUndo(at.place, aimOf(at), landing))).toMatchObject({ state: "refused", paths: ["a.txt"] });
    at.run("branch", "side", landing.old);
    expect(failureOf(await planUndo(at.place, aimOf(at, "refs/heads/side"), landing)).code).toBe("usage");
  });
});

test("a session is discarded into the trash and comes back, twice if need be, and the person's repository is not looked at", async () => {
  const at = await session();
  const trash = join(at.folder, "trash/s-1");
  rmSync(at.root, { recursive: true });
  for (let time = 0; time < 2; time++) value(await moveSession(at.place.folder, trash));
  expect(existsSync(at.place.folder)).toBe(false);
  for (let time = 0; time < 2; time++) value(await moveSession(trash, at.place.folder));
  expect(existsSync(join(at.place.folder, "repo.git/HEAD"))).toBe(true);
  expect(failureOf(await moveSession(join(at.folder, "nowhere"), join(at.folder, "neither"))).code).toBe("not_found");
});
