import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Left, typedIn } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";
import { ASK } from "./waiting-task.ts";

const typedAt = (here: Rig, directory: string, ...args: string[]): Promise<Left> =>
  typedIn(directory, here.environment, args);

/** A repository with a session that waits for an answer, in its own home. */
async function worked(here: Rig): Promise<string> {
  mkdirSync(join(here.workspace, ".git"));
  expect((await typedAt(here, here.workspace, "run", "--plan", here.write("plan.json", ASK))).code).toBe(4);
  return here.workspace;
}

/** The old workspace, and the command that shows its sessions. */
const hintIn = (stderr: string) => /^ {2}\D* (\/\S+), .*: bosun (status --home \S+)$/m.exec(stderr);

describe("status in a repository that was moved", () => {
  it.each([
    ["moved", "elsewhere/workspace", ""],
    ["renamed", "renamed", "src"],
  ])("names the home of its sessions after it was %s", async (_, place, below) => {
    const here = rig();
    const before = await worked(here);
    const now = join(dirname(before), place);
    mkdirSync(join(dirname(now), "other/.git"), { recursive: true });
    renameSync(before, now);
    mkdirSync(join(now, below), { recursive: true });
    here.write("state/bosun/other-0123456789/logs/s/000001-session_opened.json", "no record");
    const looked = await typedAt(here, join(now, below), "status");
    expect(looked.code).toBe(2);
    expect(looked.stderr).toContain("Start with `bosun run`");
    const [, workspace, command = ""] = hintIn(looked.stderr) ?? [];
    expect(workspace).toBe(before);
    expect(await typedAt(here, now, ...command.split(" "))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("waiting") as string,
    });
  });

  it("names no home of an existing or unrelated repository, nor besides --home", async () => {
    const here = rig();
    const before = await worked(here);
    const beside = join(dirname(before), "beside");
    const other = join(dirname(before), "elsewhere/other");
    for (const directory of [beside, other]) mkdirSync(join(directory, ".git"), { recursive: true });
    expect(hintIn((await typedAt(here, beside, "status")).stderr)).toBeNull();
    renameSync(before, `${before}-away`);
    expect(hintIn((await typedAt(here, beside, "status")).stderr)).not.toBeNull();
    expect(hintIn((await typedAt(here, other, "status")).stderr)).toBeNull();
    expect(hintIn((await typedAt(here, beside, "status", "--home", "none")).stderr)).toBeNull();
  });

  it("continues its sessions through a link in the old place", async () => {
    const here = rig();
    const before = await worked(here);
    const now = join(dirname(before), "renamed");
    renameSync(before, now);
    const { stderr } = await typedAt(here, now, "status");
    const [, , command = ""] = hintIn(stderr) ?? [];
    const home = command.split(" ").slice(1);
    expect((await typedAt(here, now, "answer", "Eve", ...home)).code).toBe(0);
    symlinkSync(now, before);
    expect(await typedAt(here, now, "resume", ...home)).toMatchObject({ code: 0 });
  });
});
