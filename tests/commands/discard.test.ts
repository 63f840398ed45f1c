import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { ASK } from "./waiting-task.ts";
import { done, ran, repositoryRig } from "./repository.ts";

it("puts what a session made into the trash, from which it comes back, and never looks at the person's repository", async () => {
  const here = repositoryRig();
  await done(here);
  const unconfirmed = await typed(here, ["discard"]);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  const hidden = `${join(here.workspace, ".git")}.hidden`;
  renameSync(join(here.workspace, ".git"), hidden);
  const { code, stdout } = await typed(here, ["discard", "--yes"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("bosun discard --restore s")]);
  renameSync(hidden, join(here.workspace, ".git"));
  for (const words of [["diff"], ["merge"], ["undo"], ["discard", "--yes"], ["take", "one"]]) {
    const refused = await typed(here, words);
    expect([words, refused.code, refused.stderr]).toEqual([words, 2, expect.stringMatching(/discarded.*--restore s/s)]);
  }
  expect((await typed(here, ["status", "s"])).stdout).toContain("What it made is discarded.");
  expect((await typed(here, ["discard", "--restore"])).stdout).toContain("is back");
  expect((await typed(here, ["discard", "--restore"])).code).toBe(2);
  expect((await typed(here, ["merge"])).code).toBe(0);
  expect(existsSync(join(here.workspace, "two.txt"))).toBe(true);
});

it("is refused for a session that is open, and no ticket of a discarded one is tried again", async () => {
  const here = repositoryRig();
  expect(await ran(here, [{ task_id: "bad", shell: "exit 1" }])).toBe(1);
  expect((await typed(here, ["discard", "--yes"])).code).toBe(0);
  const again = await typed(here, ["retry", "bad"]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("was discarded")]);
  const open = here.write("ask.json", ASK);
  const begun = ["run", "--plan", open, "--session", "open", "--isolation", "worktree"];
  expect((await typed(here, begun)).code).toBe(4);
  const { code, stderr } = await typed(here, ["discard", "open", "--yes"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("bosun cancel open")]);
  expect((await typed(here, ["merge", "open"])).code).toBe(4);
});

it("prune deletes for good what was discarded", async () => {
  const here = repositoryRig();
  await done(here);
  await typed(here, ["discard", "--yes"]);
  const listed = await typed(here, ["prune", "--purge", "--dry-run"]);
  expect(listed.stdout).toContain("0 sessions and what was discarded of 1 session would be deleted for good.");
  expect((await typed(here, ["prune", "--purge"])).code).toBe(2);
  expect(existsSync(join(here.home, "sessions/s/trash/copies/repo.git"))).toBe(true);
  expect((await typed(here, ["prune", "--purge", "--yes"])).code).toBe(0);
  expect(existsSync(join(here.home, "sessions/s/trash"))).toBe(false);
  expect((await typed(here, ["diff"])).stderr).toContain("prune --purge");
  expect((await typed(here, ["replay", "s", "--verify"])).code).toBe(0);
});
