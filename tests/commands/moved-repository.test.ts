import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { typedIn } from "./in-process.ts";
import { rig } from "./rig.ts";
import { ASK } from "./waiting-task.ts";

it("status in a moved repository names the home, whose sessions continue via a link", async () => {
  const here = rig();
  const at = (directory: string, ...args: string[]) => typedIn(directory, here.environment, args);
  const before = here.workspace;
  mkdirSync(join(before, ".git"));
  expect((await at(before, "run", "--plan", here.write("plan.json", ASK))).code).toBe(4);
  const now = join(dirname(before), "renamed");
  renameSync(before, now);
  const missing = await at(now, "status");
  expect(missing.code).toBe(0);
  const [, home = ""] = /bosun status --home (\S+)/.exec(missing.stdout) ?? [];
  expect((await at(now, "status", "--home", home)).stdout).toContain("waiting");
  expect((await at(now, "answer", "Eve", "--home", home)).code).toBe(0);
  symlinkSync(now, before);
  expect((await at(now, "resume", "--home", home)).code).toBe(0);
  expect((await at(now, "status", "--home", "none")).stderr).not.toContain(home);
});
