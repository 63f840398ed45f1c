import { describe, expect, it } from "vitest";
import { verifySession } from "../../src/runtime/proof.ts";
import { crew, instructed, report, type Script, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, DONE, logFolder, logOf, MODES, recordOf, resume, run, say, told } from "./sessions.ts";
import { value } from "../results.ts";

/** Text that no record can hold. Of in-process agents only the shape is checked, so this is a bug of the program. */
const UNRECORDABLE = report({ summary: "half \ud800 a pair" });

const TASKS = [instructed("a"), task("b", ["a"])];

describe("an exception in the scheduler", () => {
  it("ends the session with what is committed, and it can be resumed", async () => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: crew(TASKS, { instruction: () => UNRECORDABLE }) });
    await expect(session.run({ waitForPeople: false })).rejects.toThrow(TypeError);
    expect(rig.store.holder(session.session_id)).toBeUndefined();
    expect(value(verifySession(logFolder(rig, session.session_id), MODES))).toMatchObject({
      integrity: "ok",
      decisions: "ok",
      completeness: "open",
    });
    const mended = await resume(rig, session.session_id, { agentFor: crew(TASKS) });
    expect(await run(mended)).toEqual(DONE);
  });

  it("ends the session before a record that breaks its schema, and names it", async () => {
    const rig = newRig();
    // No reader of an agent's lines gives such a code: it stands for a bug in one.
    const refusal = { payload_type: "report", code: "No Code", pointer: "", message: "no" };
    const script: Script = (_request, sink) => {
      sink.emit({ kind: "refused", refusal, excerpt: "" });
      return report();
    };
    const session = await begin(rig, { agentFor: crew(TASKS, { instruction: script }) });
    const ended = session.run({ waitForPeople: false });
    await expect(ended).rejects.toThrow(/^Record \d+, error, .* \/payload\/code \[pattern\]$/);
    const records = logOf(rig, session.session_id);
    expect(records.at(-1)).toMatchObject({ payload_type: "turn_request" });
    expect(await run(await resume(rig, session.session_id, { agentFor: crew(TASKS) }))).toEqual(DONE);
  });

  it("ends the session while the agent still runs", async () => {
    const rig = newRig();
    // No real agent's words come so far: they stand for a bug in whatever reads them.
    const endless: Script = (_request, sink) => {
      sink.emit({ kind: "refused" } as never);
      return new Promise(() => {});
    };
    const session = await begin(rig, { agentFor: crew(TASKS, { instruction: endless }) });
    await expect(session.run({ waitForPeople: false })).rejects.toThrow(TypeError);
    expect(rig.store.holder(session.session_id)).toBeUndefined();
  });

  it("ends the session from within a bus listener", async () => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: crew(TASKS) });
    const met = told(session, recordOf("turn_request", "a"));
    session.bus.subscribe((event) => {
      if (!recordOf("turn_request", "a")(event)) return;
      say(session, "tell", { text: "\ud800" });
    });
    const ended = session.run({ waitForPeople: false });
    await expect(ended).rejects.toThrow(TypeError);
    await met;
  });
});
