import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { closeHome, rememberHome, repositoryId, resolveHome } from "../../src/config/home.ts";
import { errorOf, scratch, valueOf } from "./scratch.ts";

describe("the home", () => {
  test("is --home, else BOSUN_HOME, else the nearest directory with a bosun.db, else the state directory", () => {
    const place = scratch();
    const { directory } = place;
    place.write("repo/bosun.db", "");
    place.write("repo/src/deep/x", "");
    mkdirSync(join(directory, "other"));
    const environment = { HOME: directory, BOSUN_HOME: "relative/home" };
    rememberHome(environment, join(directory, "repo"));
    const inside = join(directory, "repo/src/deep");
    expect(place.plain(valueOf(resolveHome("../named", environment, inside)))).toBe("~/repo/src/named");
    expect(place.plain(valueOf(resolveHome(undefined, environment, directory)))).toBe("~/relative/home");
    expect(place.plain(valueOf(resolveHome(undefined, { ...environment, BOSUN_HOME: "" }, inside)))).toBe("~/repo");
    const other = valueOf(resolveHome(undefined, { HOME: directory }, join(directory, "other")));
    expect(place.plain(other)).toMatch(/^~\/\.local\/state\/bosun\/other-[0-9a-f]{10}$/);
    const state = valueOf(
      resolveHome(undefined, { HOME: directory, XDG_STATE_HOME: "/var/state" }, join(directory, "other")),
    );
    expect(state).toBe(`/var/state/bosun/${repositoryId(join(directory, "other"))}`);
    const relative = valueOf(
      resolveHome(undefined, { HOME: directory, XDG_STATE_HOME: "state" }, join(directory, "other")),
    );
    expect(relative).toBe(other);
  });

  test("is refused as a file or empty", () => {
    const place = scratch();
    const file = place.write("x", "");
    for (const named of [resolveHome(file, {}, "/"), resolveHome(undefined, { BOSUN_HOME: file }, "/")]) {
      expect(errorOf(named)).toMatchObject({ code: "configuration", message: expect.stringContaining(file) as string });
    }
    expect(errorOf(resolveHome("", {}, "/"))).toMatchObject({
      code: "usage",
      hint: expect.stringContaining("--home") as string,
    });
  });

  test("that is found must have been named before, with the same database", () => {
    const place = scratch();
    const environment = { HOME: place.directory };
    const database = place.write("repo/bosun.db", "");
    const home = join(place.directory, "repo");
    const found = () => resolveHome(undefined, environment, home);
    expect(errorOf(found())).toMatchObject({ code: "trust", message: expect.stringContaining(home) as string });
    place.write("a repo/bosun.db", "");
    const spaced = errorOf(resolveHome(undefined, environment, join(place.directory, "a repo")));
    expect(place.plain(spaced.hint ?? "")).toContain("--home '~/a repo'. If not");
    rememberHome(environment, home);
    expect(valueOf(found())).toBe(home);
    // The old file is kept, so that its inode number is not reused.
    renameSync(database, `${database}.old`);
    place.write("repo/bosun.db", "");
    expect(errorOf(found()).code).toBe("trust");
    rememberHome(environment, home);
    expect(valueOf(found())).toBe(home);
  });

  test("that is found with a new database of the same inode is refused", () => {
    const place = scratch();
    const environment = { HOME: place.directory };
    const home = join(place.directory, "repo");
    const database = place.write("repo/bosun.db", "");
    const named = statSync(database, { bigint: true });
    rememberHome(environment, home);
    // Birth times have a resolution of a few milliseconds.
    do {
      rmSync(database);
      place.write("repo/bosun.db", "");
    } while (statSync(database, { bigint: true }).birthtimeNs === named.birthtimeNs);
    expect(errorOf(resolveHome(undefined, environment, home)).code).toBe("trust");
  });

  test("is remembered once, and missing homes are forgotten", () => {
    const place = scratch();
    const environment = { XDG_STATE_HOME: join(place.directory, "state") };
    const homes = Array.from({ length: 510 }, (_, number) => join(place.directory, `home-${number}`));
    for (const [number, home] of homes.entries()) {
      place.write(`home-${number}/bosun.db`, "");
      for (const _ of ["once", "again"]) rememberHome(environment, home);
      if (number < 505) rmSync(home, { recursive: true });
    }
    const lines = readFileSync(join(place.directory, "state/bosun/homes"), "utf8").trimEnd().split("\n");
    expect(lines.length).toBeLessThan(20);
    for (const home of homes.slice(505)) expect(valueOf(resolveHome(undefined, environment, home))).toBe(home);
  });

  test.for([
    ["that others may write", (file: string) => chmodSync(file, 0o666)],
    ["of another user", (file: string) => chownSync(file, 65_534, 65_534)],
    ["behind a link", (file: string) => (renameSync(file, `${file}.moved`), symlinkSync(`${file}.moved`, file))],
  ] as const)("is not known from a list %s, whose lines are dropped", ([title, spoil]) => {
    if (title === "of another user" && process.getuid?.() !== 0) return;
    const place = scratch();
    const environment = { XDG_STATE_HOME: join(place.directory, "state") };
    const homes = ["one", "two"].map((name) => dirname(place.write(`${name}/bosun.db`, "")));
    const [one = "", two = ""] = homes;
    const isFound = (home: string) => resolveHome(undefined, environment, home).ok;
    rememberHome(environment, one);
    const list = join(place.directory, "state/bosun/homes");
    spoil(list);
    expect(homes.map(isFound)).toEqual([false, false]);
    rememberHome(environment, two);
    expect(homes.map(isFound)).toEqual([false, true]);
    expect([statSync(list).mode & 0o777, statSync(list).uid]).toEqual([0o600, process.getuid?.()]);
  });

  test("is used without an error when it cannot be remembered", () => {
    const place = scratch();
    place.write("repo/bosun.db", "");
    const environment = { XDG_STATE_HOME: place.write("state", "a file") };
    rememberHome(environment, join(place.directory, "repo"));
    expect(errorOf(resolveHome(undefined, environment, join(place.directory, "repo"))).code).toBe("trust");
  });

  test.runIf(process.getuid?.() === 0)("of another user, and what lies behind a link, keeps its modes", () => {
    const place = scratch();
    const home = dirname(place.write("home/bosun.db", ""));
    mkdirSync(join(home, "logs"));
    mkdirSync(join(place.directory, "elsewhere"));
    symlinkSync(join(place.directory, "elsewhere"), join(home, "sessions"));
    chownSync(home, 65_534, 65_534);
    for (const name of ["home", "home/bosun.db", "home/logs", "elsewhere"])
      chmodSync(join(place.directory, name), 0o755);
    const environment = { XDG_STATE_HOME: join(place.directory, "state") };
    expect(
      closeHome(environment, home)
        .map((path) => place.plain(path))
        .toSorted(),
    ).toEqual(["~/home/bosun.db", "~/home/logs"]);
    const modes = ["home", "home/logs", "elsewhere"].map((name) => statSync(join(place.directory, name)).mode & 0o777);
    expect(modes).toEqual([0o755, 0o700, 0o755]);
  });

  test.runIf(process.getuid?.() === 0)("of another user must be named", () => {
    const place = scratch();
    chownSync(place.write("bosun.db", ""), 65_534, 65_534);
    const { code, message, hint } = errorOf(resolveHome(undefined, {}, place.directory));
    expect([code, message]).toEqual(["trust", expect.stringContaining("65534")]);
    expect(hint).toContain(`--home ${place.directory}`);
    expect(valueOf(resolveHome(place.directory, {}, "/"))).toBe(place.directory);
  });
});

describe("a repository's id", () => {
  const git = (directory: string, ...words: string[]) => {
    const run = spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...words], {
      cwd: directory,
      env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
    });
    expect(run.stderr.toString() + run.error).toBe(`${run.stderr.toString()}undefined`);
    expect(run.status).toBe(0);
  };

  test("is the same in its subdirectories, worktrees and links", () => {
    const place = scratch();
    const { directory } = place;
    const repository = join(directory, "project");
    for (const name of ["project", "elsewhere/project"]) {
      mkdirSync(join(directory, name), { recursive: true });
      git(join(directory, name), "init", "--quiet");
    }
    place.write("project/sub/file", "x");
    git(repository, "add", ".");
    git(repository, "commit", "--quiet", "--message", "one");
    git(repository, "worktree", "add", "--quiet", "../tree");
    symlinkSync(repository, join(directory, "link"));
    const id = repositoryId(repository);
    expect(id).toMatch(/^project-[0-9a-f]{10}$/);
    for (const same of ["project/sub", "tree", "tree/sub", "link", "link/sub"]) {
      expect(repositoryId(join(directory, same))).toBe(id);
    }
    expect(repositoryId(join(directory, "elsewhere/project"))).not.toBe(id);
  });

  test("outside of a repository is that of the directory", () => {
    const { directory } = scratch();
    for (const name of ["a", "b", "日本 語", "-rf"]) mkdirSync(join(directory, name));
    const ids = ["a", "b", "日本 語", "-rf"].map((name) => repositoryId(join(directory, name)));
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]*-[0-9a-f]{10}$/);
    expect(repositoryId("/")).toMatch(/^root-/);
  });

  test("exists with a broken .git file", () => {
    const place = scratch();
    place.write(".git", "no git directory is named here");
    expect(repositoryId(place.directory)).toMatch(/-[0-9a-f]{10}$/);
  });
});
