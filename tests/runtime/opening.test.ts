import { beforeEach, describe, expect, it } from "vitest";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { crew, instructed } from "./crew.ts";
import { newRig } from "./rig.ts";
import { CREW } from "./roles.ts";
import { begin, DONE, type Rig, run, tryBegin } from "./sessions.ts";
import { failureOf } from "../results.ts";

let rig: Rig;
beforeEach(() => {
  rig = newRig();
});
describe("a session that cannot begin", () => {
  it("is refused for an invalid fact, and leaves nothing", async () => {
    const begun = await tryBegin(rig, {
      facts: [{ payload_type: "plan", payload: { tasks: [{ task_id: "no description" }] } }],
    });
    expect(begun).toMatchObject({ ok: false, error: { code: "usage" } });
    expect(rig.store.sessions()).toEqual([]);
  });

  it("is refused for a fact that a person may not send", async () => {
    const begun = await tryBegin(rig, { facts: [{ payload_type: "instruction", payload: { summary: "So" } }] });
    expect(begun).toMatchObject({
      ok: false,
      error: { code: "usage", message: 'a person may not send "instruction"' },
    });
    expect(rig.store.sessions()).toEqual([]);
  });

  it.each([
    ["in a requirement", { facts: [{ payload_type: "requirement", payload: { text: "\ud800" } }] }, "/text"],
    ["in a role", { roles: [{ ...CREW[0], cli_command: ["\udc00"] } as Role] }, "/roles/0/cli_command/0"],
    ["in its configuration", { config: { workspace: "\ud800" } }, "/config/workspace"],
    ["in the mode's input", { input: { a: ["\ud800"] } }, "/input/a/0"],
  ] as const)("is refused for invalid text %s, and leaves nothing", async (_, choices, pointer) => {
    const begun = await tryBegin(rig, choices);
    expect(begun).toMatchObject({ ok: false, error: { code: "usage", details: { pointer } } });
    expect(failureOf(begun).message).toContain(`"${pointer}" holds half a surrogate pair.`);
    expect(rig.store.sessions()).toEqual([]);
  });
});

describe("a session whose scheduler died before its first commit", () => {
  it("is begun by the next call with the same name, mode and workspace", async () => {
    const named = { session_id: "s-again", mode: scheduleMode.name, created_at: "2026-01-01T00:00:00Z" };
    expect(await rig.store.create({ ...named, workspace: rig.workspace })).toMatchObject({ ok: true });
    const agentFor = crew([instructed("a")]);
    const session = await begin(rig, { session_id: "s-again", agentFor });
    expect(await run(session)).toEqual(DONE);
  });

  it("is not begun from another workspace", async () => {
    const named = { session_id: "s-again", mode: scheduleMode.name, created_at: "2026-01-01T00:00:00Z" };
    expect(await rig.store.create({ ...named, workspace: rig.home })).toMatchObject({ ok: true });
    expect(await tryBegin(rig, { session_id: "s-again" })).toMatchObject({ ok: false, error: { code: "busy" } });
  });
});
