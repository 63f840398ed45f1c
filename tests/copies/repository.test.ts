import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { examined } from "../../src/copies/preflight.ts";
import { makeRepository } from "../../src/copies/repository.ts";
import { gitIn } from "../../src/lib/git.ts";
import { failureOf, value } from "../results.ts";
import { AT, begun, contents, inSession, lines, rig, tip } from "./rig.ts";

describe("examining a person's repository", () => {
  test("tells the branch, what is not committed, hooks, submodules and filters that are missing", async () => {
    const at = rig();
    at.write("other/x", "x\n");
    for (const words of [
      ["init", "-q", "other"],
      ["-C", "other", "add", "."],
      ["-C", "other", "commit", "-qm", "x"],
    ])
      at.run("-c", "user.name=a", "-c", "user.email=a@b", ...words);
    at.run("add", "other");
    at.write(".gitattributes", "*.bin filter=lfs diff=lfs\n*.c filter=known\n");
    at.run("config", "filter.known.clean", "cat");
    at.run("add", ".gitattributes");
    at.run("commit", "-qm", "more");
    mkdirSync(join(at.root, ".git/hooks"), { recursive: true });
    for (const name of ["pre-commit", "commit-msg.sample", "not-run"]) {
      writeFileSync(join(at.root, ".git/hooks", name), "#!/bin/sh\nexit 1\n");
      if (name !== "not-run") chmodSync(join(at.root, ".git/hooks", name), 0o755);
    }
    at.write("b.txt", "mine\n");
    at.write("new name.txt", "mine\n");
    const before = contents(at.root);
    const user = value(await examined(at.git, join(at.root, "src"), at.folder));
    expect(user).toMatchObject({
      root: at.root,
      branch: "refs/heads/main",
      dirty: ["b.txt"],
      untracked: ["new name.txt"],
      committer: { name: "Ada", email: "ada@example.org" },
      isShallow: false,
      submodules: ["other"],
      hooks: ["pre-commit"],
      filters: ["known", "lfs"],
    });
    expect(contents(at.root)).toEqual(before);
  });

  test("refuses a folder without a repository, one without a commit, an unknown base and a home inside", async () => {
    const at = rig();
    const empty = join(at.folder, "empty");
    mkdirSync(empty);
    const refused = async (folder: string, home = at.folder, base = "HEAD") =>
      failureOf(await examined(at.git, folder, home, base));
    expect(await refused(empty)).toMatchObject({ code: "environment", message: expect.stringContaining(empty) });
    spawnSync("git", ["init", "-q", empty], { env: at.environment });
    expect(await refused(empty)).toMatchObject({ code: "environment", message: expect.stringContaining("no commit") });
    expect(await refused(at.root, at.folder, "nowhere")).toMatchObject({ code: "usage" });
    expect(await refused(at.root, at.folder, "--help")).toMatchObject({ code: "usage" });
    expect(await refused(at.root, join(at.root, "home"))).toMatchObject({ code: "environment" });
  });

  test("refuses a git that is too old, and a partial clone", async () => {
    const at = rig();
    const bin = join(at.folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "git"), "#!/bin/sh\necho git version 2.37.9\n", { mode: 0o755 });
    const old = gitIn({ ...at.environment, PATH: `${bin}:${at.environment["PATH"]}` });
    expect(failureOf(await examined(old, at.root, at.folder)).message).toContain("2.37.9");
    at.run("config", "remote.origin.promisor", "true");
    expect(failureOf(await examined(at.git, at.root, at.folder)).message).toContain("partial");
  });
});

describe("the session's repository", () => {
  test("has the base, the branches, tags and remotes of the person's, and leaves that as it was", async () => {
    const at = rig();
    at.run("tag", "v1");
    at.run("update-ref", "refs/remotes/origin/main", "HEAD");
    at.run("remote", "add", "origin", "https://ada:secret@example.org/x.git");
    at.run("checkout", "-q", "--detach");
    at.write("b.txt", "detached\n");
    at.run("commit", "-qam", "reachable from HEAD alone");
    at.write("b.txt", "mine\n");
    const before = contents(at.root);
    const { user, base } = await begun(at);
    expect(user.branch).toBeUndefined();
    expect([base, await tip(at)]).toEqual([at.run("rev-parse", "HEAD"), at.run("rev-parse", "HEAD")]);
    expect(inSession(at, "for-each-ref", "--format=%(refname)").split("\n")).toEqual([
      "refs/bosun/base",
      "refs/bosun/session",
      "refs/heads/main",
      "refs/remotes/origin/main",
      "refs/tags/v1",
    ]);
    expect(inSession(at, "remote")).toBe("");
    expect(readFileSync(join(at.place.folder, "ticket.config"), "utf8")).not.toContain("secret");
    expect(contents(at.root)).toEqual(before);
    at.run("commit", "-qam", "later");
    expect(value(await makeRepository(at.place, user, {})).base).toBe(base);
  });

  test("outlives branches and objects that the person removes", async () => {
    const at = rig();
    at.run("checkout", "-qb", "side");
    at.write("b.txt", "side\n");
    at.run("commit", "-qam", "side");
    const { base } = await begun(at);
    at.run("checkout", "-q", "main");
    at.run("branch", "-qD", "side");
    at.run("reflog", "expire", "--expire=now", "--all");
    at.run("gc", "-q", "--prune=now");
    expect(inSession(at, "show", `${base}:b.txt`)).toBe("side");
  });

  test("is made from a shallow repository too", async () => {
    const at = rig();
    at.write("b.txt", "two\n");
    at.run("commit", "-qam", "two");
    const shallow = join(at.folder, "shallow");
    at.run("clone", "-q", "--depth=1", `file://${at.root}`, shallow);
    const { user } = await begun({ ...at, root: shallow });
    expect(user.isShallow).toBe(true);
    expect(inSession(at, "show", "refs/bosun/base:b.txt")).toBe("two");
  });

  test("starts from what is not committed if that is wished, and the person's stash and index stay", async () => {
    const at = rig();
    at.write("a.txt", lines({ 3: "stashed" }));
    at.run("stash", "-q");
    at.write("a.txt", lines({ 5: "staged" }));
    at.run("add", "a.txt");
    at.write("b.txt", "not staged\n");
    at.write("untracked.txt", "stays out\n");
    const before = contents(at.root);
    const { base } = await begun(at, { includeDirty: AT });
    expect(inSession(at, "show", `${base}:a.txt`)).toBe(lines({ 5: "staged" }).trim());
    expect(inSession(at, "show", `${base}:b.txt`)).toBe("not staged");
    expect(inSession(at, "ls-tree", "--name-only", base)).not.toContain("untracked.txt");
    expect(inSession(at, "rev-parse", `${base}^`)).toBe(at.run("rev-parse", "HEAD"));
    expect(contents(at.root)).toEqual(before);
  });

  test("does not start from files with conflicts", async () => {
    const at = rig();
    at.run("checkout", "-qb", "side");
    at.write("b.txt", "side\n");
    at.run("commit", "-qam", "side");
    at.run("checkout", "-q", "main");
    at.write("b.txt", "main\n");
    at.run("commit", "-qam", "main");
    spawnSync("git", ["merge", "side"], { cwd: at.root, env: at.environment });
    const user = value(await examined(at.git, at.root, at.folder));
    const failure = failureOf(await makeRepository(at.place, user, { includeDirty: AT }));
    expect(failure).toMatchObject({ code: "conflict", message: expect.stringContaining("b.txt") });
    expect(existsSync(join(at.place.folder, "repo.git"))).toBe(false);
  });

  test("has the person's line ends, and no program that their configuration names", async () => {
    const at = rig();
    at.run("config", "filter.x.clean", "cat");
    at.run("config", "merge.x.driver", "true");
    at.run("config", "core.autocrlf", "false");
    await begun(at);
    const settings = inSession(at, "config", "--list", "--name-only").split("\n");
    expect(settings).toContain("core.autocrlf");
    expect(settings.filter((name) => /^(?:filter|merge)\./.test(name))).toEqual([]);
  });

  test("is made anew after a half one", async () => {
    const at = rig();
    mkdirSync(join(at.place.folder, "making/repo.git"), { recursive: true });
    writeFileSync(join(at.place.folder, "making/repo.git/HEAD"), "half");
    await begun(at);
    expect(inSession(at, "rev-parse", "refs/bosun/session")).toBe(at.run("rev-parse", "HEAD"));
    expect(existsSync(join(at.place.folder, "making"))).toBe(false);
  });
});
