import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/kernel/agent.ts";
import type { Mode, Step } from "../../src/kernel/mode.ts";
import { err } from "../../src/lib/result.ts";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import { failure } from "../../src/protocol/failure.ts";
import { CONFIGURATION_DEFAULTS } from "../../src/protocol/payload.ts";
import { createSession } from "../../src/runtime/create.ts";
import type { Session } from "../../src/runtime/session.ts";
import type { Commit, Store } from "../../src/store/store.ts";
import { task } from "./crew.ts";
import { childOf, choices, debating, held, inDiscussion } from "./discussing.ts";
import { newRig } from "./rig.ts";
import { begin, DONE, logOf, recordOf, resume, type Rig, run, say, surroundings, told } from "./sessions.ts";
import { failureOf, value } from "../results.ts";

/** The rig's store with `meet` called before each commit; its result replaces that of the commit. */
function meeting(rig: Rig, meet: (commit: Commit) => ReturnType<Store["commit"]> | undefined): Store {
  const { store } = rig;
  return { ...store, commit: (lease, commit) => meet(commit) ?? store.commit(lease, commit) };
}

function has(commit: Commit, payload_type: string): boolean {
  return commit.records.some((record) => record.payload_type === payload_type);
}

describe("a child that begins while its parent", () => {
  it.each<[string, (session: Session<unknown>) => void, object]>([
    ["is cancelled", (session) => say(session, "cancel"), { kind: "closed", outcome: "cancelled" }],
    ["is stopped", (session) => session.stop("signal", "enough"), { kind: "stopped", reason: "signal" }],
  ])("%s is not created", async (_, tell, end) => {
    const rig = newRig();
    let session: Session<unknown> | undefined;
    const store = meeting(rig, (commit) => {
      if (session && has(commit, "session_begun")) tell(session);
      return undefined;
    });
    const begun = await begin(rig, { ...choices(debating()), store });
    session = begun;
    expect(await run(begun)).toMatchObject(end);
    expect(rig.store.sessions({ parent: begun.session_id })).toEqual([]);
  });

  it("is stopping is created without turns, and goes on after a resume", async () => {
    const rig = newRig();
    let session: Session<unknown> | undefined;
    const store: Store = {
      ...rig.store,
      create(made) {
        if (made.parent !== undefined) session?.stop("signal", "enough");
        return rig.store.create(made);
      },
    };
    session = await begin(rig, { ...choices(debating()), store });
    expect(await session.run({ waitForPeople: false })).toMatchObject({ value: { kind: "stopped" } });
    const child = childOf(session);
    expect(value(rig.store.session(child)).state).toBe("stopped");
    expect(logOf(rig, child, "opinion")).toEqual([]);
    const again = await resume(rig, session.session_id, choices(debating()));
    expect(await run(again)).toEqual(DONE);
  });
});

describe("a child that closes while its parent stops", () => {
  it("is recorded before the stop", async () => {
    const rig = newRig();
    const asked = Promise.withResolvers<void>();
    // Called off, it answers all the same.
    const stubborn: Agent = {
      async turn(_, { signal }) {
        asked.resolve();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => setImmediate(resolve)));
        return { answer: { payload_type: "verdict", payload: { conclusion: "In time" } }, refused: [] };
      },
    };
    const first = await begin(rig, choices(debating({}, { wise: stubborn })));
    const end = run(first);
    await asked.promise;
    first.stop("signal", "enough");
    expect(await end).toMatchObject({ kind: "stopped" });
    expect(value(rig.store.session(childOf(first))).state).toBe("closed");
    expect(logOf(rig, first.session_id).map(({ payload_type }) => payload_type)).toEqual([
      ...Array.from({ length: 7 }, () => expect.any(String)),
      "session_finished",
      "session_stopped",
    ]);
    const again = await resume(rig, first.session_id, choices(debating()));
    expect(await run(again)).toEqual(DONE);
  });
});

describe("a child that reaches its limit while its parent stops", () => {
  it("stays stopped, and is cancelled after the resume", async () => {
    const rig = newRig();
    const limited = { mode: "debate", input: { debaters: ["one", "two"], judge: "wise" }, budget: { turns: 2 } };
    let session: Session<unknown> | undefined;
    const store = meeting(rig, (commit) => {
      const isLimit = commit.records.some(({ line }) => line.includes('"reason":"limit"'));
      if (isLimit && has(commit, "session_stopped")) session?.stop("signal", "enough");
      return undefined;
    });
    const first = await begin(rig, { ...choices(debating(), { discussion: limited }), store });
    session = first;
    expect(await run(first)).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(value(rig.store.session(childOf(first))).state).toBe("stopped");
    const again = await resume(rig, first.session_id, choices(debating()));
    expect(await run(again)).toEqual(DONE);
    expect(value(rig.store.session(childOf(first)))).toMatchObject({ state: "closed", outcome: "cancelled" });
  });
});

describe("a child whose end its parent could not record", () => {
  it("is recorded by the next scheduler, once", async () => {
    const rig = newRig();
    const one = held();
    const full = err(failure("storage_full", "The disk is full."));
    const store = meeting(rig, (commit) => (has(commit, "session_finished") ? Promise.resolve(full) : undefined));
    const tasks = [task("a", [], { proposal_needed: true }), task("c", [], { proposal_needed: true })];
    const first = await begin(rig, { ...choices(debating({}, { one: one.agent }, tasks)), store });
    const end = first.run({ waitForPeople: false });
    await one.asked;
    const child = childOf(first);
    const actor = { user: "ada", host: "here", via: "test" };
    await rig.store.inbox.put(child, { payload_type: "user_command", payload: { command: "cancel" } }, actor);
    expect(failureOf(await end).code).toBe("storage_full");
    const before = logOf(rig, child);
    expect(before.at(-1)?.payload_type).toBe("session_closed");
    const again = await resume(rig, first.session_id, choices(debating({}, {}, tasks)));
    const cancel = { command: "cancel", ticket_id: "a" };
    again.submit({ source: "user", payload_type: "user_command", payload: cancel, subject: "a" });
    expect(await run(again)).toMatchObject({ kind: "closed" });
    const ended = logOf(rig, first.session_id, "session_finished").map(({ payload }) => payload["session_id"]);
    expect(ended.filter((one) => one === child)).toEqual([child]);
    expect(logOf(rig, child)).toEqual(before);
  });
});

describe("a parent paused together with its child", () => {
  it("resumes both if it is resumed before the child is taken up", async () => {
    const rig = newRig();
    const { session: first, end, child } = await inDiscussion(rig);
    say(first, "pause");
    await expect.poll(() => value(rig.store.session(child)).state).toBe("paused");
    first.stop("signal", "enough");
    await end;
    const again = await resume(rig, first.session_id, choices(debating()));
    const said = told(again, recordOf("user_command"));
    say(again, "resume");
    await said;
    expect(await run(again)).toEqual(DONE);
  });
});

const NOTHING: Step = { changes: [], envelopes: [], effects: [], commands: [] };

/** A mode that asks a person one thing, and is done when that is answered, or when it is told anything. */
const ASKING: Mode<object> = {
  name: "asking",
  rules: 1,
  rights: {
    manager: {},
    worker: {},
    participant: {},
    user: { user_command: "always", clarification_response: ["clarification"] },
    scheduler: { session_opened: "always" },
  },
  presentation: { ...schedulePresentation, subjectName: "asker" },
  empty: () => ({}),
  apply: () => {},
  decide(_, { payload_type, sequence: record }) {
    if (payload_type === "session_opened")
      return { ...NOTHING, commands: [{ do: "ask", ask_id: "c1", kind: "questions", record }] };
    if (payload_type !== "clarification_response" && payload_type !== "user_command") return NOTHING;
    const report = { requirement: "", tickets: [], result: { conclusion: "So be it" }, next_steps: [] };
    return { ...NOTHING, commands: [{ do: "finish", outcome: "done", report }] };
  },
  request: () => {
    throw new Error("nobody is asked");
  },
  phase: () => "asking",
  subjects: "subject",
  ids: () => [],
  subject: () => undefined,
};

/** A mode that opens a child at once, and closes without a word about it when it is told to. */
const CARELESS: Mode<object> = {
  ...ASKING,
  name: "careless",
  decide(_, fact) {
    if (fact.payload_type === "session_opened")
      return {
        ...NOTHING,
        commands: [{ do: "open_session", child: "1", mode: "asking", input: {}, budget: { turns: 1 } }],
      };
    if (fact.payload_type !== "user_command") return NOTHING;
    const report = { requirement: "", tickets: [], next_steps: [] };
    return { ...NOTHING, commands: [{ do: "finish", outcome: "done", report }] };
  },
};

describe("a parent of another mode", () => {
  it("closes its child when it closes", async () => {
    const rig = newRig();
    const around = surroundings(rig, { childMode: ASKING });
    surroundings(rig, { childMode: CARELESS });
    const session = value(
      await createSession(around, CARELESS, {
        session_id: "careless",
        config: { ...CONFIGURATION_DEFAULTS, plan_approval: "never", workspace: rig.workspace },
        roles: [],
        workspace: rig.workspace,
        started_by: { user: "ada", host: "here", via: "test" },
        facts: [],
      }),
    );
    const end = session.run({ waitForPeople: true });
    await expect.poll(() => value(rig.store.session("careless.1")).state).toBe("asking");
    say(session, "cancel");
    expect(await end).toMatchObject({ value: DONE });
    expect(value(rig.store.session("careless.1")).outcome).toBe("done");
  });
});

describe("a child that waits for a person", () => {
  it("stops its parent as waiting, and an answer lets both go on", async () => {
    const rig = newRig();
    const asking = { ...choices(debating(), { discussion: { mode: "asking" } }), childMode: ASKING };
    const first = await begin(rig, asking);
    expect(await run(first)).toMatchObject({ kind: "stopped", reason: "waiting" });
    const actor = { user: "ada", host: "here", via: "test" };
    const answer = { status: "answered", answers: [{ question_id: "c1.q", text: "yes" }] };
    await rig.store.inbox.put(childOf(first), { payload_type: "clarification_response", payload: answer }, actor);
    const again = await resume(rig, first.session_id, asking);
    expect(await run(again)).toEqual(DONE);
  });
});
