import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { copyOf, dropCopy, makeCopy, nextAttempt } from "../../src/copies/copy.ts";
import { keepGiven } from "../../src/copies/given.ts";
import { checkOut } from "../../src/copies/queue.ts";
import { failureOf, value } from "../results.ts";
import { agent, begun, captured, contents, copyFor, inSession, lines, rig, tip } from "./rig.ts";

const GIVEN = { folders: ["node_modules"], maxBytes: 1000 };

describe("a ticket's copy", () => {
  test("is a clean checkout of the tip whose git works alone, and the person's repository stays as it was", async () => {
    const at = rig();
    at.run("update-ref", "refs/remotes/origin/main", "HEAD");
    at.run("remote", "add", "origin", "https://example.org/x.git");
    at.write("b.txt", "mine\n");
    at.run("stash", "-q");
    const before = contents(at.root);
    await begun(at);
    const copy = await copyFor(at, "T.1");
    expect(
      agent(at, copy, "git status --porcelain; git rev-parse HEAD; git rev-parse --show-toplevel; git stash list"),
    ).toBe(`${await tip(at)}\n${copy.tree}`);
    expect(agent(at, copy, "git log -1 --format=%s origin/main; git log -1 --format=%an main")).toBe("base\nAda");
    expect(() => agent(at, copy, "git push origin HEAD:main")).toThrow("no-push");
    agent(
      at,
      copy,
      "echo x > new; git add .; git commit -qm x; git stash; git branch -D main; git gc -q --prune=now; git fsck",
    );
    expect(contents(at.root)).toEqual(before);
    expect(inSession(at, "rev-parse", "main")).toBe(at.run("rev-parse", "HEAD"));
  });

  test("lies in a path that is the same as a URL, and so does the tree for checks", async () => {
    const at = rig();
    await begun(at);
    const { tree } = await copyFor(at, "T.1");
    const checked = value(await checkOut(at.place, await tip(at)));
    for (const folder of [tree, checked.tree]) expect(pathToFileURL(folder).pathname).toBe(folder);
  });

  test("is adopted when it is ready, and made anew when it is not", async () => {
    const at = rig();
    await begun(at);
    const copy = await copyFor(at, "T");
    writeFileSync(join(copy.tree, "a.txt"), "the agent's\n");
    expect(await copyFor(at, "T")).toEqual(copy);
    expect(readFileSync(join(copy.tree, "a.txt"), "utf8")).toBe("the agent's\n");
    rmSync(join(at.place.folder, "trees/T/ready.json"));
    expect(copyOf(at.place, "T")).toBeUndefined();
    expect(await copyFor(at, "T")).toEqual(copy);
    expect(readFileSync(join(copy.tree, "a.txt"), "utf8")).toBe(lines());
  });

  test("is removed, twice if need be", async () => {
    const at = rig();
    await begun(at);
    const { tree } = await copyFor(at, "T");
    for (let time = 0; time < 2; time++) value(await dropCopy(at.place, "T"));
    expect([existsSync(tree), copyOf(at.place, "T")]).toEqual([false, undefined]);
  });

  test("of an unknown commit is refused, and leaves none that counts as ready", async () => {
    const at = rig();
    await begun(at);
    expect(failureOf(await makeCopy(at.place, "T", "0123456789012345678901234567890123456789")).code).toBe(
      "environment",
    );
    expect(copyOf(at.place, "T")).toBeUndefined();
  });

  test("runs no hook and no filter of the person's repository", async () => {
    const at = rig();
    const trap = join(at.folder, "sprung");
    at.write(".gitattributes", "* filter=x\n");
    at.run("add", ".");
    at.run("commit", "-qm", "attributes");
    at.run("config", "filter.x.smudge", `touch ${trap}; cat`);
    at.write(".git/hooks/post-checkout", `#!/bin/sh\ntouch ${trap}\n`);
    at.run("config", "core.hooksPath", join(at.root, ".git/hooks"));
    await begun(at);
    await copyFor(at, "T");
    expect(existsSync(trap)).toBe(false);
  });

  test("takes no files as changed that are so right after the checkout, unless an agent changes them", async () => {
    const at = rig();
    at.write("dos.txt", "one\r\ntwo\r\n");
    at.write("other.txt", "one\r\n");
    at.run("-c", "core.autocrlf=false", "add", ".");
    at.write(".gitattributes", "*.txt text eol=lf\n");
    at.run("add", ".gitattributes");
    at.run("commit", "-qm", "line ends");
    await begun(at);
    const copy = await copyFor(at, "T");
    expect(copy.changedAtOnce.map(({ path }) => path)).toEqual(["dos.txt", "other.txt"]);
    agent(at, copy, "echo three >> other.txt; echo x > new");
    const work = await captured(at, "T");
    expect(work.files).toEqual([
      { path: "new", change: "added" },
      { path: "other.txt", change: "modified" },
    ]);
  });
});

describe("what a ticket is given beside the commit", () => {
  test("is what .worktreeinclude names and git ignores, and folders by hard links to a copy of the person's", async () => {
    const at = rig();
    at.write(".worktreeinclude", ".env\n*.log\nb.txt\nuntracked\nlinked.log\n");
    at.write(".env", "SECRET=1\n");
    at.write("big.log", "x".repeat(1001));
    at.write("untracked", "not ignored\n");
    symlinkSync("/etc/passwd", join(at.root, "linked.log"));
    at.write("node_modules/m/index.js", "module.exports = 1;\n");
    mkdirSync(join(at.root, "node_modules/.bin"));
    symlinkSync("../m/index.js", join(at.root, "node_modules/.bin/m"));
    symlinkSync(join(at.root, "src"), join(at.root, "node_modules/own"));
    await begun(at);
    const given = value(await keepGiven(at.place, at.root, GIVEN));
    expect(given).toEqual({ files: [".env"], folders: ["node_modules"], left: ["big.log", "linked.log"] });
    rmSync(join(at.root, "node_modules"), { recursive: true });
    const { tree } = await copyFor(at, "T");
    expect(readFileSync(join(tree, ".env"), "utf8")).toBe("SECRET=1\n");
    expect(["big.log", "linked.log", "untracked"].filter((name) => existsSync(join(tree, name)))).toEqual([]);
    expect(lstatSync(join(tree, "node_modules")).isSymbolicLink()).toBe(false);
    expect(statSync(join(tree, "node_modules/m/index.js")).nlink).toBe(2);
    expect(readlinkSync(join(tree, "node_modules/.bin/m"))).toBe("../m/index.js");
    expect(readFileSync(join(tree, "node_modules/own/x.js"), "utf8")).toBe("export const x = 1;\n");
    expect(readlinkSync(join(tree, "node_modules/own"))).toBe("../src");
  });

  test("is never captured, though an agent ignores it no longer, adds it and commits it", async () => {
    const at = rig();
    at.write(".worktreeinclude", ".env\n");
    at.write(".env", "SECRET=1\n");
    at.write("node_modules/m.js", "1\n");
    await begun(at);
    value(await keepGiven(at.place, at.root, GIVEN));
    const copy = await copyFor(at, "T");
    agent(
      at,
      copy,
      "echo > .gitignore; echo x > new; git add -A -f; git commit -qm all; git rm -q --cached .env; git commit -qm fewer",
    );
    const work = await captured(at, "T");
    expect(work.files.map(({ path }) => path)).toEqual([".gitignore", "new"]);
    expect(inSession(at, "log", "--format=%H", "--all", "--", ".env", "node_modules")).toBe("");
    expect(inSession(at, "rev-parse", `${work.commit}^`)).toBe(work.start);
  });

  test("is whole in the next attempt, though the last was killed before it was", async () => {
    const at = rig();
    at.write("node_modules/m.js", "1\n");
    const { base } = await begun(at);
    value(await keepGiven(at.place, at.root, GIVEN));
    const { tree } = await copyFor(at, "T");
    rmSync(join(tree, "node_modules/m.js"));
    rmSync(join(at.place.folder, "trees/T/ready.json"));
    value(await nextAttempt(at.place, "T", base));
    expect(readFileSync(join(tree, "node_modules/m.js"), "utf8")).toBe("1\n");
  });

  test("never leads outside by a link that is in the commit", async () => {
    const at = rig();
    at.write(".worktreeinclude", ".env\n");
    at.write("config/.env", "SECRET=1\n");
    await begun(at);
    value(await keepGiven(at.place, at.root, GIVEN));
    const outside = join(at.folder, "outside");
    mkdirSync(outside);
    at.run("checkout", "-qb", "linked");
    symlinkSync(outside, join(at.root, "elsewhere"));
    const list = join(at.place.folder, "given/given.json");
    writeFileSync(list, readFileSync(list, "utf8").replace("config/.env", "elsewhere/x/.env"));
    at.run("add", "elsewhere");
    at.run("commit", "-qm", "link");
    inSession(at, "fetch", "-q", at.root, "linked:linked");
    value(await makeCopy(at.place, "T", inSession(at, "rev-parse", "linked")));
    expect(existsSync(join(outside, "x"))).toBe(false);
  });

  test.for([
    ["../outside", "is not inside"],
    [".git", "is not inside"],
    ["/etc", "is not inside"],
    ["src", "holds files that are committed"],
    ["linked", "is a link"],
  ])("cannot be the folder %s", async ([folder = "", why = ""]) => {
    const at = rig();
    symlinkSync("/etc", join(at.root, "linked"));
    await begun(at);
    const failure = failureOf(await keepGiven(at.place, at.root, { folders: [folder], maxBytes: 1 }));
    expect(failure).toMatchObject({ code: "configuration", message: expect.stringContaining(why) });
  });
});
