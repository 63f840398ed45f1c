import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { capture } from "../../src/copies/capture.ts";
import { makeCopy } from "../../src/copies/copy.ts";
import { failureOf, value } from "../results.ts";
import { agent, attemptOf, begun, captured, contents, copyFor, inSession, LIMITS, lines, rig } from "./rig.ts";

const FILES = [
  { path: "a.txt", change: "modified" },
  { path: "b.txt", change: "deleted" },
  { path: "new name.txt", change: "added" },
];
const WORK = `sed -i 's/^line 3$/three/' a.txt; rm b.txt; echo new > 'new name.txt'`;

describe("the work of an agent", () => {
  const HOSTILE: Readonly<Record<string, string>> = {
    "commits nothing": WORK,
    "removes .git": `${WORK}; rm -rf .git`,
    "makes .git a file": `${WORK}; rm -rf .git; echo "gitdir: $HOME/user/.git" > .git`,
    "begins a repository of its own": `${WORK}; rm -rf .git; git init -q; git add .; git -c user.name=a -c user.email=a@b commit -qm own`,
    "goes to another branch": `git checkout -q --orphan other; ${WORK}; git add -A; git commit -qm other`,
    "goes back to an earlier commit": `git checkout -q --detach HEAD^; git checkout -q main -- .; ${WORK}`,
    "hides files from its index": `git update-index --assume-unchanged a.txt; git update-index --skip-worktree b.txt; ${WORK}`,
    "hides files by its own exclude": `${WORK}; echo '*' > .git/info/exclude`,
    "sets a filter": `${WORK}; git config filter.x.clean 'touch $HOME/sprung; cat'; echo '* filter=x' > .git/info/attributes`,
    "sets a monitor and hooks": `${WORK}; git config core.fsmonitor 'touch $HOME/sprung'; printf '#!/bin/sh\\ntouch $HOME/sprung' > .git/hook; chmod +x .git/hook; mkdir -p .git/hooks; for h in pre-commit post-index-change reference-transaction; do cp .git/hook .git/hooks/$h; done`,
    "names the person's files as its work tree": `${WORK}; git config core.worktree "$HOME/user"`,
    "leaves a broken index and HEAD": `${WORK}; echo broken > .git/index; echo broken > .git/HEAD; touch .git/index.lock`,
    "sets an ignore file for all repositories": `${WORK}; mkdir -p $HOME/.config/git; echo '*' > $HOME/.config/git/ignore`,
    "stashes, and takes it back": `${WORK}; git stash -q -u; git stash pop -q`,
  };

  test.for(Object.entries(HOSTILE))("is captured whole if it %s", async ([, command]) => {
    const at = rig();
    at.write("a.txt", lines());
    at.run("commit", "-q", "--allow-empty", "-m", "second");
    const before = contents(at.root);
    await begun(at);
    agent(at, await copyFor(at, "T"), command);
    const work = await captured(at, "T");
    expect(work.files).toEqual(FILES);
    expect(inSession(at, "rev-parse", `${work.commit}^`)).toBe(work.start);
    expect(existsSync(join(at.folder, "sprung"))).toBe(false);
    expect(contents(at.root)).toEqual(before);
    expect(await captured(at, "T")).toEqual(work);
  });

  test("keeps its own commits if they go on from the start", async () => {
    const at = rig();
    await begun(at);
    const copy = await copyFor(at, "T");
    agent(
      at,
      copy,
      `git checkout -qb mine; ${WORK}; git add -A; git commit -qm "by the agent"; echo more >> a.txt; git pack-refs --all`,
    );
    const work = await captured(at, "T");
    expect(inSession(at, "log", "--format=%s %an %cn", `${work.start}..${work.commit}`).split("\n")).toEqual([
      "Work on T claude (Bosun) Ada",
      "by the agent Ada Ada",
    ]);
    expect(inSession(at, "log", "-1", "--format=%(trailers)%ct", work.commit).split("\n")).toEqual([
      "Bosun-Session: s-1",
      "Bosun-Ticket: T",
      "Bosun-Attempt: 1",
      String(Date.parse("2026-01-02T03:04:05Z") / 1000),
    ]);
    inSession(at, "fsck", "--strict");
  });

  test("is its files alone if it wrote a false object", async () => {
    const at = rig();
    await begun(at);
    const copy = await copyFor(at, "T");
    agent(
      at,
      copy,
      `echo good > x; git add x; git commit -qm x; good=$(git rev-parse HEAD:x); bad=$(echo bad | git hash-object -w --stdin)
      at() { echo .git/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-); }; chmod +w $(at $good); cp $(at $bad) $(at $good); echo new > x`,
    );
    const work = await captured(at, "T");
    expect(inSession(at, "rev-parse", `${work.commit}^`)).toBe(work.start);
    expect(inSession(at, "show", `${work.commit}:x`)).toBe("new");
    inSession(at, "fsck", "--strict");
  });

  test("has the same id when it is captured again after a crash before the ref", async () => {
    const at = rig();
    await begun(at);
    agent(at, await copyFor(at, "T"), WORK);
    const work = await captured(at, "T");
    inSession(at, "update-ref", "-d", "refs/bosun/tickets/T/1");
    expect((await captured(at, "T")).commit).toBe(work.commit);
  });

  test("of a ticket without a copy is not found", async () => {
    const at = rig();
    await begun(at);
    expect(failureOf(await capture(at.place, attemptOf("T"), LIMITS)).code).toBe("not_found");
  });
});

describe("the work is refused", () => {
  const WRONG: Readonly<Record<string, readonly [command: string, path: string, why: string]>> = {
    "that holds a repository": [
      "git init -q in; cd in; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
      "in/",
      "repository of its own",
    ],
    "that holds an empty repository": ["git init -q in; touch in/x", "in/", "repository of its own"],
    "with a link to an absolute path": ["ln -s /etc/passwd link", "link", "outside"],
    "with a link upwards": ["mkdir d; ln -s ../../x d/link", "d/link", "outside"],
    "with a link that goes up through another": [
      "mkdir -p p/q; ln -s ../.. p/q/up; ln -s p/q/up/../x link",
      "link",
      "outside",
    ],
    "with a link into .git": ["ln -s .git/config link", "link", "outside"],
    "with a file that is too large": ["head -c 100001 /dev/zero > big", "big", "100001"],
    "on a protected path": [
      "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml",
      ".github/workflows/ci.yml",
      "protected",
    ],
  };

  test.for(Object.entries(WRONG))("%s", async ([, [command, path, why]]) => {
    const at = rig();
    await begun(at);
    agent(at, await copyFor(at, "T"), `echo x > fine; ln -s src/x.js fine-link; ${command}`);
    const limits = { ...LIMITS, protectedPaths: { globs: [".github/**", "**/package-lock.json"], except: [] } };
    expect(value(await capture(at.place, attemptOf("T"), limits))).toEqual({
      state: "refused",
      refused: [{ path, why: expect.stringContaining(why) }],
    });
  });

  test.for([
    ["holds files and is not checked out", "echo x > sub/file", "holds files"],
    ["was removed", "rmdir sub", "removed"],
    ["has another commit", "git -C sub init -q; git -C sub commit -q --allow-empty -m x", "another commit"],
  ])("if a submodule %s", async ([, command = "", why = ""]) => {
    const at = rig();
    mkdirSync(join(at.root, "sub"));
    at.run("-C", "sub", "init", "-q");
    at.run("-C", "sub", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x");
    at.run("add", "sub");
    at.run("commit", "-qm", "sub");
    await begun(at);
    const copy = await copyFor(at, "T");
    agent(
      at,
      copy,
      `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; ${command}`,
    );
    const result = value(await capture(at.place, attemptOf("T"), LIMITS));
    expect(result).toEqual({ state: "refused", refused: [{ path: "sub", why: expect.stringContaining(why) }] });
  });

  test("and taken once the agent has put it right", async () => {
    const at = rig();
    await begun(at);
    const copy = value(await makeCopy(at.place, "T", inSession(at, "rev-parse", "main")));
    symlinkSync("/etc", join(copy.tree, "link"));
    expect(value(await capture(at.place, attemptOf("T"), LIMITS)).state).toBe("refused");
    agent(at, copy, "rm link");
    writeFileSync(join(copy.tree, "b.txt"), "b2\n");
    expect((await captured(at, "T")).files).toEqual([{ path: "b.txt", change: "modified" }]);
  });
});
