import SqliteDatabase from "better-sqlite3";
import { describe, expect, it, test } from "vitest";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import type { Agent, Answer } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { databasePath } from "../../src/store/database.ts";
import type { Store } from "../../src/store/store.ts";
import { report, type Script, task } from "./crew.ts";
import { childOf, choices, debating, DISCUSSION, held, inDiscussion } from "./discussing.ts";
import { BentClock } from "./bent-clock.ts";
import { newRig } from "./rig.ts";
import {
  begin,
  type Choices,
  DONE,
  logOf,
  recordOf,
  reportOf,
  resume,
  type Rig,
  run,
  say,
  sessionId,
  told,
} from "./sessions.ts";
import { value } from "../results.ts";

/** What the manager was told of the discussion. */
function heard(reports: readonly JsonObject[]): string {
  return reports.at(-1)?.["summary"] as string;
}

describe("a ticket discussed in a child session", () => {
  it("is done afterwards; the verdict reaches the manager, usage counts", async () => {
    const rig = newRig();
    const reports: JsonObject[] = [];
    const session = await begin(
      rig,
      choices(
        debating({
          report: ({ payload }) => {
            reports.push(payload.message.payload);
            return { payload_type: "instruction", payload: { summary: "In three steps, then." } };
          },
        }),
      ),
    );
    expect(await run(session)).toEqual(DONE);
    const child = value(rig.store.session(childOf(session)));
    expect(child).toMatchObject({ mode: "debate", state: "closed", outcome: "done", parent: session.session_id });
    expect(heard(reports)).toContain("In three steps");
    const [opened] = logOf(rig, child.session_id, "session_opened");
    expect(opened?.payload).toMatchObject({
      parent: { session_id: session.session_id, ticket_id: "a" },
      config: { budget: { turns: 40 } },
      input: { topic: expect.stringContaining("In two steps") },
    });
    expect(opened?.payload["config"]).not.toHaveProperty("discussion");
    const [ended] = logOf(rig, session.session_id, "session_finished");
    expect(ended?.payload).toMatchObject({
      session_id: child.session_id,
      outcome: "done",
      usage: { turns: 5 },
      log: { records: child.last_sequence, head: child.head },
    });
    const own = logOf(rig, session.session_id, "turn_request").length;
    expect(reportOf(rig, session.session_id)["usage"]).toMatchObject({ turns: own + 5 });
  });

  test.each<[string, Choices["config"], Readonly<Record<string, Agent>>, string]>([
    ["has used up its budget", { discussion: { ...DISCUSSION, budget: { turns: 3 } } }, {}, "the limit of 3 turns"],
    [
      "has lost its judge",
      { max_retries: 0 },
      { wise: scriptedAgent(() => ({ payload_type: "report", payload: { status: "completed" } })) },
      "the judge wise failed",
    ],
    ["takes too long", { discussion: { ...DISCUSSION, timeout_s: 0.05 } }, { one: held().agent }, "timeout"],
    ["is of an unknown mode", { discussion: { mode: "seance" } }, {}, '"seance"'],
    [
      "gets invalid input",
      { discussion: { mode: "debate", input: { debaters: ["one"], judge: "wise" } } },
      {},
      "invalid_input",
    ],
  ])("goes on without the discussion if the child %s", async (_, config, agents, why) => {
    const rig = newRig();
    const reports: JsonObject[] = [];
    const report: Script = ({ payload }) => {
      reports.push(payload.message.payload);
      return { payload_type: "instruction", payload: { summary: "Then as I said." } };
    };
    const session = await begin(rig, choices(debating({ report }, agents), config));
    expect(await run(session)).toEqual(DONE);
    expect(heard(reports)).toContain(why);
    for (const row of rig.store.sessions({ parent: session.session_id })) expect(row.state).toBe("closed");
  });
});

describe("a session with a running child", () => {
  it("closes the child when it is cancelled", async () => {
    const rig = newRig();
    const { session, end, child } = await inDiscussion(rig);
    say(session, "cancel");
    expect(await end).toEqual({ kind: "closed", outcome: "cancelled", reason: "cancelled" });
    expect(value(rig.store.session(child))).toMatchObject({ state: "closed", outcome: "cancelled" });
  });

  it("counts the child's agents when it stops", async () => {
    const { session, end } = await inDiscussion(newRig());
    const stopping = told(session, ({ kind }) => kind === "stopping");
    session.stop("signal", "enough");
    // The other debater may have answered by now, or not.
    expect([1, 2]).toContain(((await stopping) as { running?: number }).running);
    await end;
  });

  it("stops the child with it, and both resume", async () => {
    const rig = newRig();
    const { session: first, end, child } = await inDiscussion(rig);
    first.stop("signal", "that is enough");
    expect(await end).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(value(rig.store.session(child))).toMatchObject({ state: "stopped" });
    const again = await resume(rig, first.session_id, choices(debating()));
    expect(await run(again)).toEqual(DONE);
    expect(logOf(rig, child, "opinion").length).toBe(4);
    expect(logOf(rig, first.session_id, "session_begun").length).toBe(1);
    expect(logOf(rig, first.session_id, "session_finished").length).toBe(1);
  });

  it("closes a stopped child at the next resume after a cancel", async () => {
    const rig = newRig();
    const { session: first, end, child } = await inDiscussion(rig);
    first.stop("signal", "that is enough");
    await end;
    // Closed before it was run, as by a scheduler that dies right after the commit.
    const second = await resume(rig, first.session_id, choices(debating()));
    const closed = told(second, ({ kind }) => kind === "ended");
    say(second, "cancel");
    await closed;
    expect(value(rig.store.session(child))).toMatchObject({ state: "stopped" });
    const third = await resume(rig, first.session_id, choices(debating()));
    expect(await run(third)).toMatchObject({ kind: "closed", outcome: "cancelled" });
    expect(value(rig.store.session(child))).toMatchObject({ state: "closed", outcome: "cancelled" });
  });

  it("pauses and resumes the child with it", async () => {
    const rig = newRig();
    const { session, end, letGo, child } = await inDiscussion(rig);
    say(session, "pause");
    await expect.poll(() => value(rig.store.session(child)).state).toBe("paused");
    letGo();
    await expect.poll(() => logOf(rig, child, "opinion").length).toBe(2);
    expect(logOf(rig, child, "turn_request").length).toBe(2);
    say(session, "resume");
    expect(await end).toEqual(DONE);
  });

  it("stops when its child is stopped", async () => {
    const rig = newRig();
    const { end, child } = await inDiscussion(rig);
    const actor = { user: "ada", host: "here", via: "test" };
    const word = { payload_type: "user_command", payload: { command: "stop", reason: "dinner" } };
    await rig.store.inbox.put(child, word, actor);
    expect(await end).toMatchObject({ kind: "stopped", reason: "signal", message: expect.stringContaining("dinner") });
  });
});

describe("a child that waits for a person while its parent works", () => {
  const LOCKED: Answer = { payload_type: "error", payload: { code: "authentication", message: "Who are you?" } };
  const tasks = [task("a", [], { proposal_needed: true }), task("c")];
  const atWork: Script = (_, { signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(report())));

  /** A session whose only debater is held, while somebody works on another ticket. */
  async function waiting(rig: Rig, discussion: JsonObject = {}, clock = new BentClock()) {
    const agentFor = debating({ instruction: atWork }, { one: scriptedAgent(() => LOCKED) }, tasks);
    const its = choices(agentFor, { discussion: { ...DISCUSSION, ...discussion } });
    const session = await begin(rig, { ...its, clock });
    const end = run(session);
    const row = () => rig.store.sessions({ parent: session.session_id })[0];
    await expect.poll(() => row()?.state).toBe("waiting");
    return { session, end, row };
  }

  it("is closed when its parent is cancelled", async () => {
    const rig = newRig();
    const { session, end, row } = await waiting(rig);
    say(session, "cancel");
    expect(await end).toEqual({ kind: "closed", outcome: "cancelled", reason: "cancelled" });
    expect(row()).toMatchObject({ state: "closed", outcome: "cancelled" });
  });

  it("goes on at once if a message came before it stopped", async () => {
    const rig = newRig();
    const parent = sessionId();
    const word = { payload_type: "user_command", payload: { command: "tell", text: "Now." } };
    let asked = 0;
    const one = scriptedAgent(async () => {
      asked += 1;
      const [child] = rig.store.sessions({ parent });
      if (asked === 1) await rig.store.inbox.put(child?.session_id ?? "", word, { user: "u", host: "h", via: "cli" });
      return LOCKED;
    });
    const agentFor = debating({ instruction: atWork }, { one }, tasks);
    const session = await begin(rig, { ...choices(agentFor), session_id: parent });
    const end = run(session);
    await expect.poll(() => asked).toBe(2);
    session.stop("signal", "that is enough");
    await end;
  });

  it("is cancelled when its time is up", async () => {
    const rig = newRig();
    const clock = new BentClock();
    const { session, end, row } = await waiting(rig, { timeout_s: 600 }, clock);
    clock.pass(1_200_000);
    await expect.poll(() => logOf(rig, session.session_id, "session_finished").length).toBe(1);
    expect(row()).toMatchObject({ state: "closed", outcome: "cancelled" });
    session.stop("signal", "that is enough");
    expect(await end).toMatchObject({ kind: "stopped", reason: "signal" });
  });
});

describe("a session that lost its lease", () => {
  it("leaves a child that it just took to its successor", async () => {
    const rig = newRig();
    const parent = sessionId();
    // A take-over that the lock could not prevent: by a copy of the home, or with broken locks.
    const overtaken = () => {
      const database = new SqliteDatabase(databasePath(rig.home));
      database.prepare("UPDATE sessions SET epoch = epoch + 1 WHERE session_id = ?").run(parent);
      database.close();
    };
    const store: Store = {
      ...rig.store,
      acquire: (session_id, owner) => {
        if (session_id !== parent) overtaken();
        return rig.store.acquire(session_id, owner);
      },
    };
    const session = await begin(rig, { ...choices(debating()), session_id: parent, store });
    expect(await session.run({ waitForPeople: false })).toMatchObject({ ok: false, error: { code: "stale_lease" } });
    const [child] = rig.store.sessions({ parent });
    expect(child).toMatchObject({ session_id: childOf(session), last_sequence: 0 });
    expect(rig.store.holder(childOf(session))).toBeUndefined();
    const successor = await resume(rig, parent, choices(debating()));
    expect(await run(successor)).toEqual(DONE);
  });
});

describe("the budget of a child", () => {
  it("is reserved in its parent's budget until it ends", async () => {
    const rig = newRig();
    const one = held();
    const tasks = [task("a", [], { proposal_needed: true }), task("c"), task("d")];
    const session = await begin(rig, choices(debating({}, { one: one.agent }, tasks), { budget: { turns: 30 } }));
    const begunFact = told(session, recordOf("session_begun"));
    const end = run(session);
    await begunFact;
    const log = logOf(rig, session.session_id);
    const at = log.findIndex(({ payload_type }) => payload_type === "session_begun");
    const before = log.slice(0, at).filter(({ payload_type }) => payload_type === "turn_request").length;
    expect(log[at]?.payload["budget"]).toMatchObject({ turns: 30 - before });
    await one.asked;
    expect(logOf(rig, session.session_id, "turn_request").length).toBe(before);
    one.letGo();
    expect(await end).toEqual(DONE);
  });

  it("is refused if the parent has nothing left, until the limit is raised", async () => {
    const rig = newRig();
    const first = await begin(rig, choices(debating(), { budget: { turns: 2 } }));
    expect(await run(first)).toMatchObject({ kind: "stopped", reason: "limit" });
    expect(logOf(rig, first.session_id, "session_begun")).toEqual([]);
    const again = await resume(rig, first.session_id, choices(debating()), { limits: { turns: 99 } });
    expect(await run(again)).toEqual(DONE);
    expect(logOf(rig, first.session_id, "session_begun").length).toBe(1);
  });

  it("stops a parent with a cost limit if the child's cost is unknown", async () => {
    const rig = newRig();
    const priced = (payload: JsonObject): JsonObject => ({ ...payload, usage: { cost_usd: 0.01 } });
    const agentFor = debating({
      requirement: () => ({
        payload_type: "plan",
        payload: priced({ tasks: [task("a", [], { proposal_needed: true })] }),
      }),
      ticket: () => ({ payload_type: "instruction_proposal", payload: priced({ summary: "In two steps" }) }),
    });
    const session = await begin(rig, choices(agentFor, { budget: { usd: 5 } }));
    expect(await run(session)).toMatchObject({
      kind: "stopped",
      reason: "limit",
      message: expect.stringContaining(childOf(session)),
    });
  });
});
