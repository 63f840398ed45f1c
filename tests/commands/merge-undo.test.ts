import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { textIn } from "../../src/lib/files.ts";
import { typed } from "./in-process.ts";
import { done, gitThatKills, ran, repositoryRig } from "./repository.ts";
import { rig, tinyPlan, until } from "./rig.ts";
import { open } from "./terminal.ts";

describe("merge", () => {
  it("writes what all tickets changed into the branch of the start and its checkout, in one commit that undo takes back", async () => {
    const here = repositoryRig();
    await done(here);
    const before = here.state();
    const merged = await typed(here, ["merge"]);
    expect([merged.code, merged.stderr]).toEqual([0, ""]);
    expect(merged.stdout).toMatch(/3 files changed.*s is merged into main.*bosun undo s/s);
    expect(here.git("status", "--porcelain")).toBe("");
    expect(readFileSync(join(here.workspace, "a.txt"), "utf8")).toContain("\nthree\n");
    expect(existsSync(join(here.workspace, "b.txt"))).toBe(false);
    expect(here.git("log", "-1", "--format=%an %s")).toBe("Ada Merge s: Write some files.");
    expect(here.git("rev-list", "--first-parent", "--count", "HEAD")).toBe("2");
    expect((await typed(here, ["status", "s"])).stdout).toMatch(/2 of 2 tickets merged; last merged into main\./);
    expect((await typed(here, ["merge"])).code).toBe(2);
    here.mine("later.txt", "later\n");
    here.git("add", ".");
    here.git("commit", "-qm", "later");
    expect((await typed(here, ["undo"])).stdout).toContain("s is taken back from main");
    expect(here.git("diff", "--stat", "HEAD~3")).toMatch(/^ later.txt.*\n 1 file changed/);
    expect(here.state()).not.toBe(before);
    expect((await typed(here, ["report", "s"])).stdout).toContain(
      "2 of 2 tickets merged; taken back from your branch.",
    );
    const head = here.git("rev-parse", "HEAD");
    expect((await typed(here, ["undo"])).code).toBe(2);
    const again = await typed(here, ["merge"]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("git revert")]);
    expect(here.git("rev-parse", "HEAD")).toBe(head);
  });

  it("makes another branch, or one commit without the tickets' own, and needs --into for a detached HEAD", async () => {
    const here = repositoryRig();
    here.git("checkout", "-q", "--detach");
    await done(here);
    const before = here.state();
    const refused = await typed(here, ["merge", "s"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--into")]);
    expect(here.state()).toBe(before);
    expect((await typed(here, ["merge", "--into", "result", "--squash"])).code).toBe(0);
    expect(here.git("log", "-1", "--format=%P", "result")).toBe(here.git("rev-parse", "main"));
    expect(here.git("show", "result:two.txt")).toBe("two");
    expect((await typed(here, ["merge", "--into", "result", "--squash"])).code).toBe(2);
    expect(here.git("status", "--porcelain")).toBe("");
    expect((await typed(here, ["merge", "--into", "bad..name"])).code).toBe(2);
  });

  it("is refused, with the paths, for a conflict and for files of the person's in the way, and writes nothing", async () => {
    const here = repositoryRig();
    await done(here);
    here.mine("two.txt", "mine\n");
    const dirty = here.state();
    const inTheWay = await typed(here, ["merge"]);
    expect([inTheWay.code, inTheWay.stderr]).toEqual([1, expect.stringMatching(/Nothing was written.*: two\.txt\./)]);
    expect(here.state()).toBe(dirty);
    here.mine("a.txt", "other\n");
    here.git("commit", "-qam", "mine");
    const moved = here.state();
    const conflict = await typed(here, ["merge"]);
    expect([conflict.code, conflict.stderr]).toEqual([1, expect.stringMatching(/conflicts .*: a\.txt\./)]);
    expect(conflict.stderr).toMatch(/git fetch \S+repo\.git refs\/bosun\/session && git merge FETCH_HEAD/);
    expect(here.state()).toBe(moved);
  });

  it("runs the checks of merges on the result, and writes nothing if one fails", async () => {
    const here = repositoryRig();
    const check = { text: "not both", command: ["sh", "-c", "! test -e mine.txt || ! echo 'both are there' "] };
    await done(here, undefined, { checks: { merge: [check] } });
    here.mine("mine.txt", "mine\n");
    here.git("add", ".");
    here.git("commit", "-qm", "mine");
    const before = here.state();
    const red = await typed(here, ["merge"]);
    expect([red.code, red.stderr]).toEqual([
      1,
      expect.stringMatching(/nothing was written: not both.*both are there/s),
    ]);
    expect(here.state()).toBe(before);
    here.git("rm", "-q", "mine.txt");
    here.git("commit", "-qm", "not mine");
    expect((await typed(here, ["merge"])).code).toBe(0);
  });

  it("asks for --partial where a ticket is not merged, and names it", async () => {
    const here = repositoryRig();
    const tasks = [
      { task_id: "good", shell: "echo good > good.txt" },
      { task_id: "bad", shell: "echo bad > bad.txt; exit 1" },
    ];
    expect(await ran(here, tasks)).toBe(1);
    const { code, stderr } = await typed(here, ["merge"]);
    const pane = open(here, ["merge"]);
    await pane.shows("Merge what is there?");
    pane.type("n", "Enter");
    expect(await pane.exit()).toBe(1);
    expect(here.git("rev-list", "--count", "HEAD")).toBe("1");
    expect([code, stderr]).toEqual([4, expect.stringMatching(/Not merged: 1 of 2 tickets \(bad\)\..*--partial/s)]);
    expect((await typed(here, ["merge", "--partial"])).code).toBe(0);
    expect(here.git("ls-files")).toBe("a.txt\nb.txt\ngood.txt");
  });

  it("is refused while another command holds the session, and by a repository that disagrees with the record", async () => {
    const here = repositoryRig();
    const [checking, go] = [join(here.home, "checking"), join(here.home, "go")];
    const wait = `test ! -e mine.txt || { touch ${checking}; until test -e ${go}; do sleep 0.05; done; }`;
    await done(here, undefined, { checks: { merge: [{ text: "waits", command: ["sh", "-c", wait] }] } });
    here.mine("mine.txt", "mine\n");
    here.git("add", ".");
    here.git("commit", "-qm", "mine");
    const first = here.start(["merge"]);
    await until("the checks to run", () => existsSync(checking));
    for (const words of [["merge"], ["undo"], ["discard", "--yes"], ["take", "one"]])
      expect([words, (await typed(here, words)).code]).toEqual([words, 7]);
    writeFileSync(go, "");
    expect((await first.done).code).toBe(0);
    const repository = join(here.home, "sessions/s/copies/repo.git");
    here.git("--git-dir", repository, "update-ref", "refs/bosun/session", "refs/bosun/base");
    expect((await typed(here, ["undo"])).code).toBe(6);
  });
});

it("says that agents worked in the workspace itself, of a session without copies", async () => {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "echo one > one" }]));
  expect((await typed(here, ["run", "--plan", plan])).code).toBe(0);
  for (const command of ["diff", "merge", "undo", "discard"]) {
    const { code, stderr } = await typed(here, [command]);
    expect([command, code, stderr]).toEqual([
      command,
      2,
      expect.stringMatching(/in the workspace itself.*git -C \S+ diff/s),
    ]);
  }
});

describe("after a kill in the middle of a merge", () => {
  it.each([
    ["before the files", "checkout"],
    ["before the branch", "update-ref"],
  ])("%s, the next merge ends it, and undo knows it", async (_, command) => {
    const here = repositoryRig();
    await done(here);
    const killed = await here.run(["merge"], { env: gitThatKills(here, command) });
    expect(killed.signal).toBe("SIGKILL");
    const left = `/proc/${readFileSync(join(here.home, "../left"), "utf8").trim()}/cmdline`;
    await until("what is left to begin", () => ["sleep\u000060\u0000", undefined].includes(textIn(left)));
    const ended = await typed(here, ["merge"]);
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining("that was cut off is done now")]);
    // A process that has ended has no command line, also while nobody has asked for its exit code.
    expect(textIn(left) ?? "").toBe("");
    expect(here.git("status", "--porcelain")).toBe("");
    expect(here.git("show", "main:two.txt")).toBe("two");
    expect((await typed(here, ["undo"])).code).toBe(0);
    expect(here.git("diff", "HEAD~2")).toBe("");
  });

  it("stops at a file that somebody changed since, and names it", async () => {
    const here = repositoryRig();
    await done(here);
    await here.run(["merge"], { env: gitThatKills(here, "update-ref") });
    const refused = await typed(here, ["discard", "--yes"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("bosun merge s")]);
    here.mine("a.txt", "mine, since\n");
    const { code, stderr } = await typed(here, ["undo"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("a.txt")]);
    expect(readFileSync(join(here.workspace, "a.txt"), "utf8")).toBe("mine, since\n");
  });
});

it("a merge is signed as the person's own git signs, not as the repository says", async () => {
  const here = repositoryRig();
  await done(here);
  const key = here.write("key", "");
  execFileSync("sh", ["-c", `rm ${key}; ssh-keygen -q -t ed25519 -N '' -f ${key}`]);
  const trap = here.write("trap", `#!/bin/sh\ntouch ${key}.trapped\nexit 1\n`);
  chmodSync(trap, 0o755);
  here.git("config", "--global", "gpg.format", "ssh");
  here.git("config", "--global", "user.signingkey", `${key}.pub`);
  here.git("config", "gpg.ssh.program", trap);
  expect((await typed(here, ["merge", "--sign"])).code).toBe(0);
  expect(here.git("cat-file", "-p", "main")).toContain("gpgsig -----BEGIN SSH SIGNATURE-----");
  expect(existsSync(`${key}.trapped`)).toBe(false);
});
