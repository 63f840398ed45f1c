import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Left, typedIn } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";
import { ASK } from "./waiting-task.ts";

const typedAt = (here: Rig, directory: string, ...args: string[]): Promise<Left> =>
  typedIn(directory, here.environment, args);

/** A repository with a session that waits for an answer, in the home that is its own. */
async function worked(here: Rig): Promise<string> {
  mkdirSync(join(here.workspace, ".git"));
  expect((await typedAt(here, here.workspace, "run", "--plan", here.write("plan.json", ASK))).code).toBe(4);
  return here.workspace;
}

const told = (stderr: string) =>
  /^ {2}What was done in (\S+), .* is in another home: bosun (status --home \S+)$/m.exec(stderr);

describe("a repository that was moved", () => {
  it.each([
    ["moved", "elsewhere/workspace", ""],
    ["renamed", "renamed", "src"],
  ])("is told, where it was %s, which home has what was done in it", async (_, place, below) => {
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
    const [, workspace, command = ""] = told(looked.stderr) ?? [];
    expect(workspace).toBe(before);
    expect(await typedAt(here, now, ...command.split(" "))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("waiting") as string,
    });
  });

  it("is none while what was worked in is there, nor one of another name in another place, nor of a home that was named", async () => {
    const here = rig();
    const before = await worked(here);
    const beside = join(dirname(before), "beside");
    const other = join(dirname(before), "elsewhere/other");
    for (const directory of [beside, other]) mkdirSync(join(directory, ".git"), { recursive: true });
    expect(told((await typedAt(here, beside, "status")).stderr)).toBeNull();
    renameSync(before, `${before}-away`);
    expect(told((await typedAt(here, beside, "status")).stderr)).not.toBeNull();
    expect(told((await typedAt(here, other, "status")).stderr)).toBeNull();
    expect(told((await typedAt(here, beside, "status", "--home", "none")).stderr)).toBeNull();
  });

  it("goes on with its sessions where a link stands in its old place", async () => {
    const here = rig();
    const before = await worked(here);
    const now = join(dirname(before), "renamed");
    renameSync(before, now);
    const { stderr } = await typedAt(here, now, "status");
    const [, , command = ""] = told(stderr) ?? [];
    const home = command.split(" ").slice(1);
    expect((await typedAt(here, now, "answer", "Eve", ...home)).code).toBe(0);
    symlinkSync(now, before);
    expect(await typedAt(here, now, "resume", ...home)).toMatchObject({ code: 0 });
  });
});
