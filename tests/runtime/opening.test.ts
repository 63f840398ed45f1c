import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { crew, task } from "./crew.ts";
import { begin, cleanUp, newRig, type Rig, run, tryBegin } from "./rig.ts";

let rig: Rig;
beforeEach(() => {
  rig = newRig();
});
afterEach(cleanUp);

describe("a session that cannot begin", () => {
  it("is refused for a fact that cannot stand, and leaves nothing", async () => {
    const begun = await tryBegin(rig, {
      facts: [{ payload_type: "plan", payload: { tasks: [{ task_id: "no description" }] } }],
    });
    expect(begun).toMatchObject({ ok: false, error: { code: "usage" } });
    expect(rig.store.sessions()).toEqual([]);
  });

  it("is refused for what no person may say", async () => {
    const begun = await tryBegin(rig, { facts: [{ payload_type: "report", payload: { status: "completed" } }] });
    expect(begun).toMatchObject({ ok: false, error: { code: "usage", message: 'a person may not send "report"' } });
    expect(rig.store.sessions()).toEqual([]);
  });
});

describe("a session whose scheduler died before its first commit", () => {
  it("is begun by whoever comes with the same name, mode and workspace", async () => {
    const named = { session_id: "s-again", mode: scheduleMode.name, created_at: "2026-01-01T00:00:00Z" };
    expect(await rig.store.create({ ...named, workspace: rig.workspace })).toMatchObject({ ok: true });
    const agentFor = crew([task("a", [], { instruction: { summary: "Do it." } })]);
    const session = await begin(rig, { session_id: "s-again", agentFor });
    expect(await run(session)).toEqual({ kind: "closed", outcome: "done" });
  });

  it("keeps its name from another workspace", async () => {
    const named = { session_id: "s-again", mode: scheduleMode.name, created_at: "2026-01-01T00:00:00Z" };
    expect(await rig.store.create({ ...named, workspace: rig.home })).toMatchObject({ ok: true });
    expect(await tryBegin(rig, { session_id: "s-again" })).toMatchObject({ ok: false, error: { code: "busy" } });
  });
});
