import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { err } from "../../src/lib/result.ts";
import { type Failure, failure } from "../../src/protocol/failure.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { crew, criterion, instructed } from "./crew.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, withWorker } from "./roles.ts";
import { begin, DONE, logOf, reportOf, resume, run, say, sessionId, surroundings } from "./sessions.ts";
import { failureOf, value } from "../results.ts";
import { living } from "../processes.ts";

/** A store that from its n-th commit on can write no more. */
function full(store: Store, n: number, why: Failure): Store & { readonly committed: () => number } {
  let calls = 0;
  let last = 0;
  return {
    ...store,
    committed: () => last,
    async commit(lease, commit) {
      calls += 1;
      if (calls >= n) return err(why);
      const done = await store.commit(lease, commit);
      last = commit.expected + commit.records.length;
      return done;
    },
  };
}

const NO_ROOM = failure("storage_full", "The disk is full.", { hint: "Make room." });
const TAKEN_OVER = failure("stale_lease", "Somebody else has it.");
const TASKS = ["a", "b"].map((id) => instructed(id, [], { acceptance_criteria: [criterion("true")] }));
const PROGRAMS = withWorker(`sleep 0.02\n${REPORT}`);

describe("a commit that fails", () => {
  it("waits for a running check to end", async () => {
    const rig = newRig();
    let isFull = false;
    const store: Store = {
      ...rig.store,
      commit: async (lease, commit) => (isFull ? err(NO_ROOM) : rig.store.commit(lease, commit)),
    };
    const stubborn = {
      text: "takes its time",
      command: ["sh", "-c", "trap '' TERM; : > checking; sleep 60 & wait; wait"],
    };
    const tasks = [instructed("a", [], { acceptance_criteria: [stubborn] })];
    const session = await begin(rig, { store, agentFor: crew(tasks) });
    const ended = session.run({ waitForPeople: false });
    await expect.poll(() => existsSync(join(rig.workspace, "checking"))).toBe(true);
    isFull = true;
    say(session, "tell", { text: "x" });
    expect(failureOf(await ended)).toEqual(NO_ROOM);
    expect(living(session.session_id)).toEqual([]);
  });

  it.each([2, 3, 4, 5, 6, 7, 8])("ends the session and its agents as number %i, and it can be resumed", async (n) => {
    const rig = newRig();
    const store = full(rig.store, n, NO_ROOM);
    const agentFor = crew(TASKS, {}, { hand: cli() });
    const session = await begin(rig, { store, roles: PROGRAMS, agentFor });
    const end = await session.run({ waitForPeople: false });
    expect(failureOf(end)).toEqual(NO_ROOM);
    expect(living(session.session_id)).toEqual([]);
    const kept = logOf(rig, session.session_id);
    expect(kept).toHaveLength(store.committed());
    expect(say(session, "tell", { text: "x" })).toBeUndefined();

    const resumed = await resume(rig, session.session_id, { agentFor });
    expect(await run(resumed)).toEqual(DONE);
    expect(logOf(rig, session.session_id).slice(0, kept.length)).toEqual(kept);
    expect(reportOf(rig, session.session_id)).toMatchObject({
      recoveries: 1,
      tickets: [{ status: "done" }, { status: "done" }],
    });
  });

  it("leaves a session that was never begun if it is the first", async () => {
    const rig = newRig();
    const session = await begin(rig, { store: full(rig.store, 1, NO_ROOM), agentFor: crew(TASKS) });
    expect(failureOf(await session.run({ waitForPeople: false }))).toEqual(NO_ROOM);
    const row = value(rig.store.session(session.session_id));
    expect(failureOf(await resumeSession(surroundings(rig, {}), scheduleMode, row))).toMatchObject({
      code: "not_found",
    });
  });

  it("leaves the successor's work alone after a take-over", async () => {
    const rig = newRig();
    const agentFor = crew(TASKS, {}, { hand: cli() });
    const session = await begin(rig, { store: full(rig.store, 4, TAKEN_OVER), roles: PROGRAMS, agentFor });
    expect(failureOf(await session.run({ waitForPeople: false }))).toEqual(TAKEN_OVER);
    expect(living(session.session_id)).toEqual([]);
    const resumed = await resume(rig, session.session_id, { agentFor });
    expect(await run(resumed)).toMatchObject({ outcome: "done" });
  });
});

describe("one home", () => {
  it("runs two sessions at once with separate logs", async () => {
    const rig = newRig();
    const other = value(openStore(rig.home));
    try {
      const [left, right] = [sessionId(), sessionId()];
      const agentFor = crew(TASKS, {}, { hand: cli() });
      const sessions = [
        await begin(rig, { session_id: left, roles: PROGRAMS, agentFor }),
        await begin(rig, { session_id: right, roles: PROGRAMS, agentFor, store: other }),
      ];
      const ends = await Promise.all(sessions.map((session) => run(session)));
      expect(ends).toEqual([DONE, DONE]);
      expect(logOf(rig, left).length).toBe(logOf(rig, right).length);
      expect(new Set(logOf(rig, left).map(({ session_id }) => session_id))).toEqual(new Set([left]));
    } finally {
      other.close();
    }
  });

  it("refuses to resume a held session and names its holder", async () => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: crew(TASKS) });
    const other = value(openStore(rig.home));
    try {
      const row = value(other.session(session.session_id));
      const refused = failureOf(await resumeSession(surroundings(rig, { store: other }), scheduleMode, row));
      expect(refused).toMatchObject({ code: "busy", details: { pid: process.pid } });
    } finally {
      other.close();
    }
    expect(await run(session)).toMatchObject({ outcome: "done" });
  });
});
