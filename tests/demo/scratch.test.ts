import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { shipped } from "../../src/config/installation.ts";
import { fillScratch, makeScratch, removeScratch, type Scratch } from "../../src/crew/demo/scratch.ts";
import { findSource, type Source } from "../../src/crew/demo/source.ts";
import { cleanUp, digests, git, type Place, place, project, repository } from "./rig.ts";

afterEach(cleanUp);

/** A place whose environment is this process's. */
function placeHere(): Place {
  const at = place();
  for (const [name, value] of Object.entries(at.environment)) vi.stubEnv(name, value);
  return at;
}

function fill(source: Source, scratch: Scratch, home: string) {
  return fillScratch(source, scratch, home, new AbortController().signal);
}

describe("the source of the scratch copy", () => {
  const find = async (directory: string, named?: string): Promise<Source> => {
    const found = await findSource(directory, named, shipped());
    if (!found.ok) throw new Error(found.error.message);
    return found.value;
  };

  it("is the repository around a directory, whatever GIT_DIR says", async () => {
    const at = placeHere();
    const directory = repository(at);
    vi.stubEnv("GIT_DIR", "/nowhere");
    expect(await find(join(directory, "src"))).toEqual({ directory, committed: true, uncommitted: 0 });
    expect(await find(at.base, "a project/docs")).toEqual({ directory, committed: true, uncommitted: 0 });
  });

  it("is Bosun itself outside of any repository", async () => {
    const at = placeHere();
    expect((await find(at.base)).directory).toBe(shipped());
    expect((await find(at.base, ".")).directory).toBe(at.base);
  });

  it("has no commit to clone before the first one", async () => {
    const at = placeHere();
    const directory = project(at);
    git(at, directory, "init", "--quiet");
    expect(await find(directory)).toMatchObject({ directory, committed: false });
  });
});

describe("the scratch copy", () => {
  const filesIn = async (at: Place, directory: string, committed: boolean, home = at.home) => {
    const source = { directory, committed, uncommitted: 0 };
    const scratch = makeScratch(source);
    try {
      const filled = await fill(source, scratch, home);
      const files = execFileSync("git", ["ls-files", "-z"], {
        cwd: existsSync(scratch.work) ? scratch.work : scratch.folder,
        encoding: "utf8",
        stdio: "pipe",
      });
      return {
        filled,
        files: files.split("\0").filter((name) => name !== ""),
        remotes: git(at, scratch.work, "remote"),
      };
    } finally {
      removeScratch(scratch);
    }
  };

  it.each(["bare", "worktree", "shallow", "detached"])(
    "is the last commit of a %s repository, without a remote",
    async (kind) => {
      const at = placeHere();
      const directory = repository(at);
      const other = join(at.base, "other.git");
      if (kind === "bare") git(at, at.base, "clone", "--quiet", "--bare", directory, other);
      if (kind === "worktree") git(at, directory, "worktree", "add", "--quiet", other, "HEAD~1");
      if (kind === "shallow") git(at, at.base, "clone", "--quiet", "--depth", "1", `file://${directory}`, other);
      if (kind === "detached") git(at, directory, "checkout", "--quiet", "--detach", "HEAD~1");
      const from = kind === "detached" ? directory : other;
      const before = digests(from);
      const { filled, files, remotes } = await filesIn(at, from, true);
      expect(filled).toEqual({ ok: true, value: git(at, from, "rev-parse", "HEAD") });
      expect(files).toContain("notes/größe und maß.txt");
      expect(remotes).toBe("");
      expect(digests(from)).toEqual(before);
    },
  );

  it("holds a folder's files without packages, .git folders, links and the home", async () => {
    const at = placeHere();
    const directory = project(at);
    for (const [name, text] of [
      ["node_modules/left/index.js", "left"],
      ["nested/.git/config", "[core]"],
      ["logs/s-1/000001.json", "{}"],
      ["bosun.db", "x"],
    ] as const) {
      mkdirSync(join(directory, name, ".."), { recursive: true });
      writeFileSync(join(directory, name), text);
    }
    symlinkSync("/etc", join(directory, "link"));
    const { filled, files } = await filesIn(at, directory, false, directory);
    expect(filled).toEqual({ ok: true, value: null });
    expect(files).toContain("src/engine.js");
    expect(files.filter((name) => /node_modules|nested|logs|bosun\.db|link/.test(name))).toEqual([]);
  });

  it("holds the files of a folder that the repository around it ignores", async () => {
    const at = placeHere();
    const around = join(at.base, "app");
    mkdirSync(join(around, "vendor"), { recursive: true });
    git(at, around, "init", "--quiet");
    writeFileSync(join(around, ".gitignore"), "/vendor/\n");
    const directory = join(around, "vendor", "project");
    renameSync(project(at), directory);
    const { files } = await filesIn(at, directory, false);
    expect(files).toContain("src/engine.js");
  });

  it.each(["has no commit yet", "belongs to another user"])(
    "holds no ignored file of a repository that %s",
    async (why) => {
      const at = placeHere();
      const directory = why === "has no commit yet" ? project(at) : repository(at);
      if (why === "has no commit yet") git(at, directory, "init", "--quiet");
      writeFileSync(join(directory, ".gitignore"), "/logs/\n");
      git(at, directory, "add", "package.json", "docs/guide.md");
      mkdirSync(join(directory, "logs", "s-1"), { recursive: true });
      writeFileSync(join(directory, "logs", "s-1", "t1.1.stdout.log"), "of another demo");
      writeFileSync(join(directory, "new.txt"), "not added");
      rmSync(join(directory, "docs", "guide.md"));
      const program = join(at.base, "older", "git");
      const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
      const strange = why === "belongs to another user" ? directory : "nowhere";
      const shim = `[ "$PWD" = '${strange}' ] && export GIT_TEST_ASSUME_DIFFERENT_OWNER=1\nexec '${real}' "$@"`;
      writeFileSync(program, `#!/bin/sh\n${shim}\n`);
      chmodSync(program, 0o755);
      const source = { directory, committed: false, uncommitted: null };
      const scratch = makeScratch(source);
      const filled = await fill(source, scratch, at.home);
      const isThere = (path: string) => existsSync(join(scratch.work, path));
      const copied = ["package.json", "new.txt", "src/engine.js", "docs/guide.md", "logs"].map(isThere);
      removeScratch(scratch);
      expect([filled, copied]).toEqual([{ ok: true, value: null }, [true, true, true, false, false]]);
    },
  );

  it("is refused for a folder that is too large", async () => {
    const at = placeHere();
    const directory = join(at.base, "large");
    mkdirSync(directory);
    writeFileSync(join(directory, "sparse"), "");
    truncateSync(join(directory, "sparse"), 600_000_000);
    const source = { directory, committed: false, uncommitted: null };
    const scratch = makeScratch(source);
    const filled = await fill(source, scratch, at.home);
    removeScratch(scratch);
    expect(filled).toMatchObject({
      ok: false,
      error: { code: "usage", message: expect.stringContaining("too large") },
    });
  });
});
