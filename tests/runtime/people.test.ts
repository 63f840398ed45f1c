import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { crew, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, DONE, isAsked, logOf, recordOf, resume, type Rig, run, sessionId, told } from "./sessions.ts";
import { value } from "../results.ts";

/** A person at another terminal; the returned function puts a message into the session's inbox. */
function person(rig: Rig, session_id: string): (payload_type: string, payload: JsonObject) => void {
  const child = spawn(process.execPath, [join(import.meta.dirname, "children/person.ts"), rig.home, session_id], {
    stdio: ["pipe", "ignore", "inherit"],
    env: { PATH: process.env["PATH"] },
  });
  onTestFinished(async () => {
    const gone = once(child, "exit");
    child.stdin.end();
    await gone;
  });
  return (payload_type, payload) => child.stdin.write(`${JSON.stringify({ payload_type, payload })}\n`);
}

const QUESTION = {
  payload_type: "clarification",
  payload: { status: "open", questions: [{ question_id: "q", text: "Why?" }] },
} as const;
const TASKS = [instructed("a"), instructed("b", ["a"])];
const COMMAND = { source: "user", payload_type: "user_command" } as const;
const ACTOR = { user: "bea", host: "elsewhere", via: "test" };

/** Asks first; and works only when it is told to. */
function patient(gate: Promise<void>) {
  const notes: unknown[] = [];
  const agentFor = crew(TASKS, {
    requirement: () => QUESTION,
    instruction: async ({ payload }) => {
      await gate;
      notes.push(payload.context.notes);
      return report();
    },
  });
  return { agentFor, notes };
}

describe("a person in another process", () => {
  it("answers, tells, pauses and resumes, recorded with the person's name", async () => {
    const rig = newRig();
    const gate = Promise.withResolvers<void>();
    const { agentFor, notes } = patient(gate.promise);
    const session = await begin(rig, { agentFor });
    const say = person(rig, session.session_id);
    const asked = isAsked(session);
    const ended = session.run({ waitForPeople: true });
    await asked;

    const working = told(session, (event) => recordOf("turn_request", "a")(event));
    say("clarification_response", { status: "answered", answers: [{ question_id: "c1.q", text: "Because." }] });
    await working;
    let commands = 0;
    const both = told(session, (event) => recordOf("user_command")(event) && ++commands === 2);
    say("user_command", { command: "tell", ticket_id: "b", text: "Mind the gap." });
    say("user_command", { command: "pause" });
    await both;
    const approved = told(session, recordOf("report", "a"));
    gate.resolve();
    await approved;
    expect(rig.store.sessions()).toMatchObject([{ state: "paused" }]);
    say("user_command", { command: "resume" });
    expect(await ended).toEqual({ ok: true, value: DONE });

    const log = logOf(rig, session.session_id);
    const types = log.map(({ payload_type, payload }) =>
      payload_type === "user_command" ? (payload["command"] as string) : payload_type,
    );
    const [paused, resumed] = [types.indexOf("pause"), types.indexOf("resume")];
    expect(types.slice(paused, resumed)).not.toContain("turn_request");
    expect(types.slice(paused, resumed)).toContain("report");
    expect(types.slice(resumed)).toContain("turn_request");
    expect(notes).toEqual([undefined, ["Mind the gap."]]);
    for (const { source, record } of log.filter(({ payload_type }) => payload_type === "user_command")) {
      expect([source, record.actor]).toEqual(["user", ACTOR]);
    }
    expect(rig.store.inbox.pending(session.session_id)).toEqual([]);
  });

  it("cancels a ticket, then the session", async () => {
    const rig = newRig();
    const tasks = [...TASKS, instructed("c")];
    const session = await begin(rig, { agentFor: crew(tasks, { instruction: () => new Promise(() => {}) }) });
    const say = person(rig, session.session_id);
    const working = told(session, recordOf("turn_request", "c"));
    const ended = session.run({ waitForPeople: true });
    await working;
    const gone = told(session, recordOf("user_command", "a"));
    say("user_command", { command: "cancel", ticket_id: "a" });
    await gone;
    expect([...session.state(() => "").subjects.values()].map(({ id, status }) => [id, status])).toEqual(
      expect.arrayContaining([
        ["a", "error"],
        ["c", "in_progress"],
      ]),
    );
    say("user_command", { command: "cancel" });
    expect(await ended).toMatchObject({ value: { kind: "closed", outcome: "cancelled" } });
  });

  it("cancels a paused session", async () => {
    const rig = newRig();
    const { agentFor } = patient(Promise.withResolvers<void>().promise);
    const session = await begin(rig, { agentFor });
    session.submitFromPerson({ ...COMMAND, payload: { command: "pause" } });
    session.submitFromPerson({ ...COMMAND, payload: { command: "cancel" } });
    expect(await run(session)).toMatchObject({ kind: "closed", outcome: "cancelled" });
    expect(rig.store.sessions()).toMatchObject([{ state: "closed", outcome: "cancelled" }]);
  });

  it("reopens a closed session with a retry", async () => {
    const rig = newRig();
    const failed = () => ({ payload_type: "error", payload: { code: "agent_failed", message: "No." } }) as const;
    const tasks = [instructed("a")];
    const agentFor = crew(tasks, { instruction: failed });
    const session = await begin(rig, { agentFor, config: { max_retries: 0, max_escalations: 0 } });
    expect(await run(session)).toMatchObject({ kind: "closed", outcome: "failed" });
    const again = await resume(rig, session.session_id, { agentFor: crew(tasks) }, { reopen: "retry" });
    again.submitFromPerson({ ...COMMAND, payload: { command: "retry", ticket_id: "a" } });
    const working = told(again, recordOf("turn_request", "a"));
    const ended = run(again);
    await working;
    expect(rig.store.sessions()).toMatchObject([{ state: "running", outcome: null }]);
    expect(await ended).toEqual(DONE);
    expect(rig.store.sessions()).toMatchObject([{ state: "closed", outcome: "done" }]);
  });

  it("has a cancel from before the close refused after a reopening", async () => {
    const rig = newRig();
    const failed = () => ({ payload_type: "error", payload: { code: "agent_failed", message: "No." } }) as const;
    const tasks = [instructed("a")];
    const agentFor = crew(tasks, { instruction: failed });
    const session = await begin(rig, { agentFor, config: { max_retries: 0, max_escalations: 0 } });
    expect(await run(session)).toMatchObject({ kind: "closed", outcome: "failed" });
    const { session_id } = session;
    const cancel = { payload_type: "user_command", payload: { command: "cancel" } };
    value(await rig.store.inbox.put(session_id, cancel, ACTOR));
    const again = await resume(rig, session_id, { agentFor: crew(tasks) }, { reopen: "retry" });
    again.submitFromPerson({ ...COMMAND, payload: { command: "retry", ticket_id: "a" } });
    expect(await run(again)).toEqual(DONE);
    expect(logOf(rig, session_id, "error").at(-1)).toMatchObject({
      payload: { code: "not_permitted", message: expect.stringMatching(/closed before .*"cancel"/) },
      record: { disposition: "refused" },
    });
    expect(rig.store.inbox.pending(session_id)).toEqual([]);
  });

  it("has invalid and forbidden messages refused", async () => {
    const rig = newRig();
    const session_id = sessionId();
    const session = await begin(rig, { session_id, agentFor: crew(TASKS) });
    const bodies: JsonObject[] = [
      { payload_type: "session_closed", payload: { outcome: "done" } },
      { payload_type: "report", payload: { status: "completed" } },
      { payload_type: "user_command", payload: { command: "fly" } },
      { payload_type: "approval", payload: { decision: "approved" } },
      { payload_type: "user_command", payload: { command: "cancel", ticket_id: "nobody" } },
    ];
    const ids: number[] = [];
    for (const body of bodies) ids.push(value(await rig.store.inbox.put(session_id, body, ACTOR)));
    expect(await run(session)).toEqual(DONE);
    const refused = logOf(rig, session_id).filter(({ record }) => record.disposition === "refused");
    expect(refused).toHaveLength(bodies.length);
    expect(refused.map(({ record }) => record.actor)).toEqual(bodies.map(() => ACTOR));
    expect(rig.store.inbox.pending(session_id)).toEqual([]);
    const codes = ["not_permitted", "not_permitted", "validation_failed", "not_permitted", "not_permitted"];
    expect(ids.map((id) => rig.store.inbox.outcome(session_id, id))).toEqual(
      ids.map((id, index) => ({
        id,
        sequence: refused[index]?.integrity.sequence,
        refusal: expect.objectContaining({ code: codes[index] }) as unknown,
      })),
    );
  });

  it("has rows with arbitrary content refused, and later messages taken", async () => {
    const rig = newRig();
    const { agentFor } = patient(Promise.resolve());
    const session = await begin(rig, { agentFor });
    const { session_id } = session;
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    const answering = (answers: Json) => ({
      payload_type: "clarification_response",
      payload: { status: "answered", answers },
    });
    const deep = (levels: number): Json => (levels === 0 ? "q" : [deep(levels - 1)]);
    const bodies = [
      answering([{ question_id: "q", text: "half \ud800 pair" }]),
      answering([{ question_id: "q", text: "x", metadata: { "\udfff": 1 } }]),
      answering(deep(2_000)),
      { payload_type: "\ud800", payload: {} },
      { payload_type: "constructor", payload: {} },
      { payload_type: "x".repeat(10_000), payload: {} },
      { payload_type: 7, payload: {} },
      { payload_type: "user_command", payload: null },
      { payload_type: "user_command", payload: "\ud800" },
      null,
      [],
      "\ud800",
    ];
    for (const body of bodies) await rig.store.inbox.put(session_id, body as JsonObject, ACTOR);
    const nobodies = [null, 7, { ...ACTOR, user: "\ud800" }, { user: "bea" }];
    for (const actor of nobodies) await rig.store.inbox.put(session_id, {}, actor as typeof ACTOR);
    await rig.store.inbox.put(session_id, answering([{ question_id: "q", text: "Because." }]), ACTOR);
    const resumed = await resume(rig, session_id, { agentFor });
    expect(await run(resumed)).toEqual(DONE);
    const refused = logOf(rig, session_id).filter(({ record }) => record.disposition === "refused");
    expect(refused.map(({ record }) => record.actor)).toEqual([
      ...bodies.map(() => ACTOR),
      ...nobodies.map(() => undefined),
    ]);
    expect(refused.slice(0, 3).map(({ payload }) => payload)).toEqual([
      {
        code: "validation_failed",
        message: '"/answers/0/text" holds half a surrogate pair. [well_formed]',
        details: { pointer: "/answers/0/text" },
      },
      {
        code: "validation_failed",
        message: '"/answers/0/metadata/\ufffd" has half a surrogate pair in its key. [well_formed]',
        details: { pointer: "/answers/0/metadata/\ufffd" },
      },
      {
        code: "validation_failed",
        message: expect.stringMatching(/ nests deeper than the 64 levels that are read\. \[depth\]$/) as string,
        details: { pointer: `/answers${"/0".repeat(63)}` },
      },
    ]);
    for (const { payload } of refused) expect((payload["message"] as string).length).toBeLessThan(200);
    expect(rig.store.inbox.pending(session_id)).toEqual([]);
  });

  it("has waiting messages taken by the next scheduler", async () => {
    const rig = newRig();
    const { agentFor } = patient(Promise.resolve());
    const session = await begin(rig, { agentFor });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    const answer = { status: "answered", answers: [{ question_id: "q", text: "Because." }] };
    await rig.store.inbox.put(session.session_id, { payload_type: "clarification_response", payload: answer }, ACTOR);
    const resumed = await resume(rig, session.session_id, { agentFor });
    expect(await run(resumed)).toEqual(DONE);
  });
});
