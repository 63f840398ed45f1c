import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { shipped } from "../../src/lib/files.ts";
import { fillScratch, findSource, makeScratch, removeScratch, type Source } from "../../src/crew/demo/scratch.ts";
import { cleanUp, digests, git, type Place, place, project, repository } from "./rig.ts";

afterEach(cleanUp);

/** A place whose environment is this process's. */
function placeHere(): Place {
  const at = place();
  for (const [name, value] of Object.entries(at.environment)) vi.stubEnv(name, value);
  return at;
}

async function find(directory: string, named?: string, installed = shipped()): Promise<Source> {
  const found = await findSource(directory, named, installed);
  if (!found.ok) throw new Error(found.error.message);
  return found.value;
}

describe("the source of the scratch copy", () => {
  it("is the repository around a directory, whatever GIT_DIR says", async () => {
    const at = placeHere();
    const directory = repository(at);
    const source = { directory, head: git(at, directory, "rev-parse", "HEAD"), uncommitted: 0 };
    vi.stubEnv("GIT_DIR", "/nowhere");
    expect(await find(join(directory, "src"))).toEqual(source);
    expect(await find(at.base, "a project/docs")).toEqual(source);
  });

  it("is Bosun's own folder outside of any repository", async () => {
    const at = placeHere();
    expect((await find(at.base)).directory).toBe(shipped());
    const directory = project(at);
    expect(await find(at.base, undefined, directory)).toMatchObject({ directory, head: undefined });
  });

  it.each(["has no repository", "has no commit yet"])("is refused where the folder %s", async (why) => {
    const at = placeHere();
    const directory = project(at);
    if (why === "has no commit yet") git(at, directory, "init", "--quiet");
    const found = await findSource(at.base, directory, shipped());
    expect(found).toMatchObject({
      ok: false,
      error: { code: "usage", message: expect.stringContaining(directory), hint: expect.anything() },
    });
  });
});

describe("the scratch copy", () => {
  const copyOf = async (source: Source) => {
    const scratch = makeScratch(source);
    try {
      expect(await fillScratch(source, scratch, new AbortController().signal)).toEqual({ ok: true, value: undefined });
      const inWork = (...words: string[]) =>
        execFileSync("git", words, { cwd: scratch.work, encoding: "utf8", stdio: "pipe" });
      return {
        head: source.head === undefined ? undefined : inWork("rev-parse", "HEAD").trim(),
        tracked: inWork("ls-files", "-z").split("\0"),
        missing: inWork("ls-files", "--deleted"),
        remotes: inWork("remote"),
      };
    } finally {
      removeScratch(scratch);
      expect(existsSync(scratch.folder)).toBe(false);
    }
  };

  it.each(["worktree", "shallow", "detached"])(
    "is the last commit of a %s repository, without a remote",
    async (kind) => {
      const at = placeHere();
      const directory = repository(at);
      const other = join(at.base, "other.git");
      if (kind === "worktree") git(at, directory, "worktree", "add", "--quiet", other, "HEAD~1");
      if (kind === "shallow") git(at, at.base, "clone", "--quiet", "--depth", "1", `file://${directory}`, other);
      if (kind === "detached") git(at, directory, "checkout", "--quiet", "--detach", "HEAD~1");
      const from = kind === "detached" ? directory : other;
      const before = digests(from);
      const { head, tracked, remotes } = await copyOf(await find(from));
      expect(head).toBe(git(at, from, "rev-parse", "HEAD"));
      expect(tracked).toContain("notes/größe und maß.txt");
      expect(remotes).toBe("");
      expect(digests(from)).toEqual(before);
    },
  );

  it("holds Bosun's own files without packages, ignored files and linked ones", async () => {
    const at = placeHere();
    const directory = project(at);
    for (const name of ["node_modules/left/index.js", "docs/node_modules/right.js", "logs/s-1/1.json"]) {
      mkdirSync(join(directory, name, ".."), { recursive: true });
      writeFileSync(join(directory, name), "x");
    }
    writeFileSync(join(directory, ".gitignore"), "/logs/\n");
    symlinkSync("/etc", join(directory, "link"));
    const before = digests(directory);
    const { tracked, missing } = await copyOf(await find(at.base, undefined, directory));
    expect(tracked).toEqual(expect.arrayContaining(["src/engine.js", "notes/größe und maß.txt"]));
    expect(tracked.filter((name) => /left|right|^logs|^link\//.test(name))).toEqual([]);
    expect(missing).toBe("");
    expect(digests(directory)).toEqual(before);
  });
});
