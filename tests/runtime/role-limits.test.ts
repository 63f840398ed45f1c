import { describe, expect, it } from "vitest";
import type { Role } from "../../src/protocol/roles.ts";
import { instant, milliseconds } from "../../src/protocol/timestamp.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";
import { crew, instructed, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, shell, withRole } from "./roles.ts";
import { begin, countsIn, DONE, logOf, recordOf, resume, type Rig, run, told } from "./sessions.ts";

const given = (id: string, more = {}) => instructed(id, [], { review: "manager", ...more });

function withHand(more: Partial<Role>, ...others: readonly Role[]): readonly Role[] {
  return [...withRole("hand", more), ...others];
}

describe("a role whose budget is spent", () => {
  it("stops the session until the role is released", async () => {
    const rig = newRig();
    const roles = withHand({ budget: { turns: 2 } });
    const agentFor = crew([given("a"), given("b"), given("c")]);
    const session = await begin(rig, { agentFor, roles });
    const { session_id } = session;
    const stopped = {
      kind: "stopped",
      reason: "limit",
      message: 'the role "hand" has used its budget of 2 turns: bosun resume --release hand gives it as much again',
    };
    expect(await session.run({ waitForPeople: true })).toEqual({ ok: true, value: stopped });
    expect(countsIn(session)).toEqual({ done: 2, pending: 1 });
    expect(logOf(rig, session_id, "session_stopped")).toMatchObject([
      { payload: { reason: "limit", limit: "role_turns", used: 2, max: 2 } },
    ]);
    expect(await run(await resume(rig, session_id, { agentFor, roles }))).toEqual(stopped);
    const released = await resume(rig, session_id, { agentFor, roles });
    released.submitFromPerson({
      source: "user",
      payload_type: "user_command",
      payload: { command: "release", role_id: "hand" },
    });
    expect(await run(released)).toEqual(DONE);
    const given_to = logOf(rig, session_id, "turn_request").map(({ target }) => target);
    expect(given_to.filter((target) => target === "hand")).toHaveLength(3);
  });

  it("leaves its work to other suitable roles", async () => {
    const rig = newRig();
    const roles = withHand({ budget: { turns: 1 } }, { role_id: "spare", type: "worker", cli_command: ["unused"] });
    // A seat at the first worker is kept for each ticket whose instruction is asked for.
    const tasks = ["a", "b", "c", "d"].map((id) => task(id));
    const agentFor = crew(tasks);
    const session = await begin(rig, {
      agentFor,
      roles: roles.map((role) => (role.type === "manager" ? { ...role, max_instances: 4 } : role)),
    });
    expect(await run(session)).toEqual(DONE);
    const work = logOf(rig, session.session_id, "turn_request").filter(({ target }) => target !== "boss");
    expect(work.map(({ target }) => target).sort()).toEqual(["hand", "spare", "spare", "spare"]);
  });

  it("limits the remaining turns in requests", async () => {
    const rig = newRig();
    const agentFor = crew([given("a"), given("b")]);
    const config = { max_workers: 1, budget: { turns: 6 } };
    const session = await begin(rig, { agentFor, roles: withHand({ budget: { turns: 4 } }), config });
    expect(await run(session)).toMatchObject({ kind: "closed" });
    const left = logOf(rig, session.session_id, "turn_request").map(({ target, payload }) => [
      target,
      (payload["limits"] as { remaining_turns?: number }).remaining_turns,
    ]);
    expect(left.filter(([target]) => target === "hand")).toEqual([
      ["hand", 3],
      ["hand", 2],
    ]);
    expect(left.at(-1)).toEqual(["boss", 1]);
  });

  it("counts the time of its programs", async () => {
    const rig = newRig();
    const roles = withHand({ cli_command: shell(`sleep 0.3; ${REPORT}`), budget: { wall_s: 0.2 } });
    const agentFor = crew([given("a"), given("b")], {}, { hand: cli() });
    const session = await begin(rig, { agentFor, roles, config: { max_workers: 1 } });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "limit" });
    expect(logOf(rig, session.session_id, "session_stopped")).toMatchObject([{ payload: { limit: "role_wall_s" } }]);
    expect(countsIn(session)).toEqual({ done: 1, pending: 1 });
  });
});

/** The system's clock, whose minute takes 0.3 s. */
const FAST = 200;
const fast: Clock = {
  now: () => instant(Math.floor(STARTED + performance.now() * FAST)),
  monotonic: () => performance.now() * FAST,
  uptime: () => performance.now() * FAST,
  after: (delay_ms, callback) => systemClock.after(delay_ms / FAST, callback),
  soon: (callback) => systemClock.soon(callback),
};
const STARTED = Date.parse("2026-01-01T00:00:00Z");

describe("a role's own rate", () => {
  /** When the worker was given turns, in ms of the session's time. */
  const times = (rig: Rig, session_id: string) =>
    logOf(rig, session_id, "turn_request")
      .filter(({ target }) => target === "hand")
      .map(({ record }) => milliseconds(record.received_at));

  /** The shortest time in which the worker was given more than `most` turns. */
  const tightest = (all: readonly number[], most: number) =>
    Math.min(...all.slice(most).map((at, index) => at - (all[index] ?? 0)));

  const tasks = ["a", "b", "c", "d", "e"].map((id) => given(id));
  const agentFor = crew(tasks, {}, { hand: cli() });
  const roles = withHand({ rate_limit: { turns_per_minute: 2 }, cli_command: shell(REPORT) });

  it("spaces its turns while other roles go on", async () => {
    const rig = newRig();
    const spare = { role_id: "spare", type: "worker", cli_command: ["unused"] } as const;
    const others = [...withHand({ rate_limit: { turns_per_minute: 0.001 } }), spare];
    const session = await begin(rig, { agentFor, roles: others, clock: fast, config: { max_workers: 1 } });
    expect(await run(session)).toEqual(DONE);
    expect(times(rig, session.session_id)).toHaveLength(1);

    const alone = await begin(rig, { agentFor, roles, clock: fast });
    expect(await run(alone)).toEqual(DONE);
    const all = times(rig, alone.session_id);
    expect(all).toHaveLength(5);
    expect(tightest(all, 2)).toBeGreaterThanOrEqual(60_000);
    // Nobody else is told of it, and nothing stands in the log.
    expect(logOf(rig, alone.session_id, "turn_failed")).toEqual([]);
  });

  it("is waited for beyond max_hold_s, and kept across a resume", async () => {
    const rig = newRig();
    const config = { max_hold_s: 1 };
    const session = await begin(rig, { agentFor, roles, clock: fast, config });
    const { session_id } = session;
    const both = Promise.all(["a", "b"].map((id) => told(session, recordOf("review", id))));
    const ended = session.run({ waitForPeople: false });
    await both;
    session.stop("signal", "Enough for now.");
    await ended;
    // On a slow machine a third may have begun, which is then begun again.
    expect(times(rig, session_id).length).toBeGreaterThanOrEqual(2);
    expect(await run(await resume(rig, session_id, { agentFor, roles, clock: fast }))).toMatchObject({
      outcome: "done",
    });
    const all = times(rig, session_id);
    expect(all.length).toBeGreaterThanOrEqual(5);
    expect(tightest(all, 2)).toBeGreaterThanOrEqual(60_000);
  });

  it("is not waited for if no turn wants the role", async () => {
    const rig = newRig();
    const session = await begin(rig, {
      agentFor: crew([given("a", { review: "user" })]),
      roles: withHand({ rate_limit: { turns_per_minute: 0.001 } }),
    });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting", message: "a person must answer" });
  });
});
