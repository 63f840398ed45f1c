import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openReader } from "../../src/store/sqlite-store.ts";
import { value } from "../results.ts";
import { type Ended, onlySession, typed, typedIn } from "./in-process.ts";
import { type Rig, rig, tinyPlan, withoutRetries } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { ASK, letGo, statusOf, taskRuns, WAIT } from "./waiting-task.ts";

/** Fails until there is a file `good` in the workspace. */
const FAILING = tinyPlan([{ task_id: "one", shell: "test -e good && echo done > out.txt" }]);

/** Runs a command beside the workspace, which may be gone. */
function beside(here: Rig, args: readonly string[]): Promise<Ended> {
  return typedIn(dirname(here.home), { ...here.environment, BOSUN_HOME: here.home }, args);
}

/** Everything that is kept of a session. */
function kept(here: Rig, session_id: string): unknown {
  const reader = value(openReader(here.home));
  const row = value(reader.session(session_id));
  const inbox = reader.inbox.pending(session_id);
  reader.close();
  return { row, inbox, files: readdirSync(join(here.home, "logs", session_id)) };
}

/** Moves the workspace away, and may replace it; the returned function restores it. */
function takeAway(here: Rig, replace: (workspace: string) => void = () => {}): () => void {
  const away = `${here.workspace}-away`;
  renameSync(here.workspace, away);
  replace(here.workspace);
  return () => {
    rmSync(here.workspace, { recursive: true, force: true });
    renameSync(away, here.workspace);
  };
}

async function asking(here: Rig): Promise<string> {
  expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
  expect((await typed(here, ["answer", "Eve"])).code).toBe(0);
  return onlySession(here);
}

/** A refusal that names the workspace and the session. */
const named = (here: Rig, session_id: string) =>
  expect.stringContaining(`${here.workspace} of ${session_id}`) as string;

describe("a session whose workspace is gone", () => {
  it.each<[how: string, replace: (workspace: string) => void, args: string[]]>([
    ["is not there", () => {}, ["resume"]],
    ["has become a file", (workspace) => writeFileSync(workspace, ""), ["resume"]],
    ["is not there, in a process of its own", () => {}, ["resume", "--detach"]],
  ])("cannot be resumed (it %s) until it is back, and does not change", async (_, replace, args) => {
    const here = endAfterwards(rig());
    const session_id = await asking(here);
    const before = kept(here, session_id);
    const putBack = takeAway(here, replace);
    const refused = await beside(here, args);
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([3, "", named(here, session_id)]);
    expect(refused.stderr).toContain(`bosun cancel ${session_id}`);
    expect(kept(here, session_id)).toEqual(before);
    putBack();
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve\n");
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("can be cancelled, and then shown", async () => {
    const here = rig();
    const session_id = await asking(here);
    takeAway(here);
    expect(await beside(here, ["cancel", session_id])).toMatchObject({ code: 1, stderr: "" });
    expect(await beside(here, ["resume", session_id])).toMatchObject({ code: 1, stderr: "" });
  });

  it("is not reopened for a ticket", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", FAILING), ...withoutRetries(here)])).code).toBe(
      1,
    );
    const session_id = await onlySession(here);
    const before = kept(here, session_id);
    const putBack = takeAway(here);
    const refused = await beside(here, ["retry", "one"]);
    expect([refused.code, refused.stderr]).toEqual([3, named(here, session_id)]);
    expect(kept(here, session_id)).toEqual(before);
    putBack();
    writeFileSync(join(here.workspace, "good"), "");
    expect((await typed(here, ["retry", "one"])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("is not taken over from its owner", async () => {
    const here = endAfterwards(rig());
    const running = here.start(["run", "--plan", here.write("plan.json", WAIT)]);
    const { session_id, owner } = await taskRuns(here);
    const putBack = takeAway(here);
    const refused = await beside(here, ["resume", "--take-over"]);
    expect([refused.code, refused.stderr]).toEqual([3, named(here, session_id)]);
    putBack();
    expect((await statusOf(here, session_id)).owner?.pid).toBe(owner);
    letGo(here);
    expect((await running.done).code).toBe(0);
  });
});
