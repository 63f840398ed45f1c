import { describe, expect, it, test } from "vitest";
import { endsInTime, stopFor } from "../../../src/kernel/holds.ts";
import type { LedgerHold } from "../../../src/kernel/ledger.ts";
import { hasRun } from "../../../src/kernel/spends.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { milliseconds } from "../../../src/protocol/timestamp.ts";
import { limitReached } from "../../../src/runtime/admission/limits.ts";
import { CONFIG } from "../kit.ts";
import { CREW, type Options, schedule, type ScheduleSession, task } from "./session.ts";

function working(options: Options = {}): ScheduleSession {
  return schedule(options).plan(task("a")).instruct("a").admit("a");
}

/** Several tickets, each in a turn of the same role. */
function together(...ids: readonly string[]): ScheduleSession {
  const session = schedule({ config: { max_workers: ids.length } }).plan(...ids.map((id) => task(id)));
  for (const id of ids) session.instruct(id);
  for (const id of ids) session.admit(id);
  return session;
}

function holdOf(session: ScheduleSession, role_id = "hand"): LedgerHold {
  const hold = session.engine.ledger.holds.get(role_id);
  if (!hold) throw new Error(`${role_id} is not held`);
  return hold;
}

/** How long the role is held from the latest fact on, in seconds. */
function pause(session: ScheduleSession): number {
  const failed = session.records.at(-1)?.record["received_at"] as string;
  return (milliseconds(holdOf(session).until ?? "") - milliseconds(failed)) / 1000;
}

/** One more try, which fails. */
function again(session: ScheduleSession, id = "a"): ScheduleSession {
  return session.admit(id).fail(id, "unavailable");
}

describe("an outage", () => {
  it("holds the role with pauses that double from 5 s to 5 min, and spends no attempt", () => {
    const session = working().fail("a", "unavailable");
    const { since } = holdOf(session);
    const pauses = [pause(session)];
    for (let tries = 2; tries <= 9; tries += 1) pauses.push(pause(again(session)));
    for (const [index, wanted] of [5, 10, 20, 40, 80, 160, 300, 300, 300].entries()) {
      expect(pauses[index]).toBeGreaterThanOrEqual(wanted);
      expect(pauses[index]).toBeLessThanOrEqual(wanted * 1.1);
    }
    expect(new Set(pauses.slice(6)).size).toBe(3);
    expect(holdOf(session)).toMatchObject({ reason: "unavailable", since, tries: 9 });
    expect([session.ticket("a").attempt, session.ticket("a").retries, session.moved]).toEqual([1, undefined, []]);
    expect(session.open).toEqual(["worker instruction a"]);
  });

  it("grows by one step for all turns that fail together, and its end only becomes later", () => {
    const session = together("a", "b", "c").fail("a", "unavailable");
    const { until } = holdOf(session);
    session.fail("b", "unavailable").fail("c", "unavailable");
    expect(holdOf(session)).toMatchObject({ tries: 1, until });
    session.admit("a").admit("b").fail("b", "unavailable").fail("a", "unavailable");
    expect(holdOf(session).tries).toBe(2);
  });

  it("lets the turns of the role begin one after the other until one has come through", () => {
    const session = together("a", "b").fail("a", "unavailable").fail("b", "unavailable").admit("a");
    expect(holdOf(session).trying).toBe(true);
    expect(pause(session)).toBeGreaterThan(0);
    session.deliver("a");
    expect(session.engine.ledger.holds.size).toBe(0);
  });

  test.each([["agent_failed"], ["timeout"]])("ends when a turn of the role fails with %s", (code) => {
    const session = working().fail("a", "unavailable").admit("a").fail("a", code);
    expect(session.engine.ledger.holds.size).toBe(0);
  });

  it("begins anew after a turn that came through", () => {
    const session = together("a", "b").fail("a", "unavailable");
    again(session).deliver("b").admit("a").fail("a", "unavailable");
    expect(holdOf(session).tries).toBe(1);
    expect(holdOf(session).since).toBe(session.records.at(-1)?.record["received_at"]);
  });

  it("lasts until a later time that the failure names, and not until an earlier one", () => {
    const session = working().fail("a", "unavailable", { details: { retry_at: "2026-01-01T00:30:00Z" } });
    expect(holdOf(session).until).toBe("2026-01-01T00:30:00Z");
    const early = working().fail("a", "unavailable", { details: { retry_at: "2020-01-01T00:00:00Z" } });
    expect(pause(early)).toBeGreaterThanOrEqual(5);
    const never = working().fail("a", "unavailable", { details: { retry_at: "2036-01-01T00:00:00Z" } });
    expect(pause(never)).toBe(3_600);
  });

  it("may come from an agent's own error, and holds all roles of the account", () => {
    const roles: readonly Role[] = CREW.map((role) => ({ ...role, account: "acme" }));
    const session = working({ roles }).answer("a", "error", { code: "unavailable", message: "Overloaded." });
    const { until } = holdOf(session);
    expect([...session.engine.ledger.holds.values()].map((one) => [one.account, one.until])).toEqual(
      roles.map(() => ["acme", until]),
    );
    session.admit("a").deliver("a");
    expect(session.engine.ledger.holds.size).toBe(0);
  });

  it("does not stop the session after max_hold_s, and has no timer for it", () => {
    const session = again(working({ config: { max_hold_s: 1 } }).fail("a", "unavailable"));
    const { ledger } = session.engine;
    expect([...ledger.timers.keys()]).not.toContain("hold:hand");
    expect(endsInTime(ledger, holdOf(session))).toBe(true);
  });

  it("is not counted by max_hold_s if a limit follows it", () => {
    const session = again(working().fail("a", "unavailable"));
    session.admit("a").fail("a", "rate_limited", { details: { retry_at: "2026-01-01T02:00:00Z" } });
    const { reason, since } = holdOf(session);
    expect([reason, since]).toEqual(["rate_limited", session.records.at(-1)?.record["received_at"]]);
    expect([...session.engine.ledger.timers.keys()]).toContain("hold:hand");
  });

  it("goes on after a resume, which tries at once, and is forgotten by a release", () => {
    const session = again(working().fail("a", "unavailable"));
    const { since } = holdOf(session);
    session.stop().recover();
    expect(holdOf(session)).toMatchObject({ since, tries: 2 });
    expect(pause(session)).toBe(0);
    session.command("release", undefined, { role_id: "hand" });
    expect(session.engine.ledger.holds.size).toBe(0);
  });

  it("spends nothing of a session's or a role's budget of turns", () => {
    const roles = CREW.map((role) => ({ ...role, budget: { turns: 2 } }));
    const session = working({ roles });
    const limit = () => limitReached(session.engine.ledger, { ...CONFIG, budget: { turns: 4 } }, 0)?.details["used"];
    session.fail("a", "unavailable");
    for (let tries = 0; tries < 5; tries += 1) again(session);
    expect([limit(), session.engine.ledger.uses.get("hand")?.turns]).toEqual([undefined, 0]);
    expect([...session.engine.ledger.holds.keys()]).toEqual(["budget:boss", "hand"]);
    session.admit("a").fail("a", "agent_failed");
    expect(session.engine.ledger.uses.get("hand")?.turns).toBe(1);
  });

  it("gives back no turn of a budget that was released while the turn ran", () => {
    const session = working({ roles: CREW.map((role) => ({ ...role, budget: { turns: 1 } })) });
    session.command("release", undefined, { role_id: "hand" });
    session.fail("a", "unavailable");
    expect(session.engine.ledger.uses.get("hand")?.turns ?? 0).toBe(0);
  });
});

describe("a program that cannot be started", () => {
  const FAILED = { message: 'Cannot start "x": it is not on the PATH.', resolution_hint: "Install it." };

  it("holds its own role without end, and the session stops with what to do", () => {
    const roles: readonly Role[] = CREW.map((role) => ({ ...role, account: "acme" }));
    const session = working({ roles }).fail("a", "environment", FAILED);
    expect([...session.engine.ledger.holds.values()].map((one) => [one.role_id, one.until])).toEqual([
      ["hand", undefined],
    ]);
    expect([session.ticket("a").attempt, session.moved]).toEqual([1, []]);
    const { reason, message } = stopFor(session.engine.ledger, holdOf(session), "2026-01-01T00:01:00Z");
    expect(reason).toBe("waiting");
    for (const part of ['"hand"', FAILED.message, "Install it, then resume"]) expect(message).toContain(part);
    expect(session.stop("waiting").recover().engine.ledger.holds.size).toBe(0);
  });

  it("is not what an agent's own error of that name says", () => {
    const session = working().answer("a", "error", { code: "environment", message: "No compiler." });
    expect([session.engine.ledger.holds.size, session.open]).toEqual([0, ["retry:a in 1000 ms"]]);
  });
});

describe("whether a role's program has run in this session", () => {
  const runs = ({ engine }: ScheduleSession, role_id = "hand") =>
    hasRun(engine.ledger, role_id, [...engine.ledger.turns.keys()][0] ?? "");
  const missing = { details: { program: "x", errno: "ENOENT" } };

  it("is told by its ended turns, but not by those whose program was not there", () => {
    const session = working();
    expect([runs(session), runs(session, "boss")]).toEqual([false, true]);
    expect(runs(session.fail("a", "unavailable", missing))).toBe(false);
    expect(runs(session.admit("a").fail("a", "unavailable"))).toBe(true);
  });

  it("is told by a turn that runs beside this one, or ran when the session was left", () => {
    expect(runs(together("a", "b"))).toBe(true);
    expect(runs(working().recover(false))).toBe(true);
    expect(runs(working().fail("a", "environment", missing).recover(false))).toBe(false);
  });
});
