import { describe, expect, it } from "vitest";
import { isHeld, stopFor } from "../../../src/kernel/holds.ts";
import { turnsLeft } from "../../../src/kernel/role-limits.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { later } from "../../../src/protocol/timestamp.ts";
import { COMPLETED, CREW, INSTRUCTION, schedule, type ScheduleSession, task } from "./session.ts";

/** The crew, with more fields for its workers. */
function crew(hand: Partial<Role>, eye: Partial<Role> = {}): readonly Role[] {
  return CREW.map((role) => ({
    ...role,
    ...(role.role_id === "hand" ? hand : role.role_id === "eye" ? eye : {}),
  }));
}

const given = (id: string, role_id = "hand") => task(id, { instruction: INSTRUCTION, assigned_to: { role_id } });

/** The holds, as `role reason until … limit used/max`. */
function held(session: ScheduleSession): string[] {
  return [...session.engine.ledger.holds.values()]
    .map(({ role_id, reason, until = "released", limit }) =>
      [`${role_id} ${reason} until ${until}`, limit && `${limit.limit} ${limit.used}/${limit.max}`]
        .filter(Boolean)
        .join(" "),
    )
    .sort();
}

/** What a role has used, as `turns/milliseconds`. */
function used(session: ScheduleSession, role_id = "hand"): string | undefined {
  const use = session.engine.ledger.uses.get(role_id);
  return use && `${use.turns}/${use.wall_ms}`;
}

/** A session with a task for each letter, all assigned to `hand`. */
function planned(hand: Partial<Role>, ids = "abc", eye: Partial<Role> = {}): ScheduleSession {
  return schedule({ roles: crew(hand, eye) }).plan(...ids.split("").map((id) => given(id)));
}

describe("a role's budget of turns", () => {
  it("is used by every run, and holds the role until it is released", () => {
    const session = planned({ budget: { turns: 2 } }).admit("a");
    expect([used(session), held(session), turnsLeft(session.engine.ledger, "hand")]).toEqual(["1/0", [], 1]);
    session.fail("a", "rate_limited", { details: { retry_at: "2026-01-01T00:00:10Z" } });
    session.command("release", undefined, { role_id: "hand" });
    expect(used(session)).toBe("1/0");
    session.admit("a");
    expect([used(session), held(session)]).toEqual(["2/0", ["hand budget_exhausted until released role_turns 2/2"]]);
    session.command("release", undefined, { role_id: "hand" });
    expect([used(session), held(session), turnsLeft(session.engine.ledger, "hand")]).toEqual([undefined, [], 2]);
  });

  it("is not renewed by a resume, a result, or another role's release", () => {
    const session = planned({ budget: { turns: 1 }, account: "acme" }, "ab", { account: "acme" }).admit("a");
    const spent = ["hand budget_exhausted until released role_turns 1/1"];
    session.deliver("a").command("release", undefined, { role_id: "eye" });
    expect(held(session)).toEqual(spent);
    expect(held(session.stop("limit").recover())).toEqual(spent);
    expect(held(session.recover(false))).toEqual(spent);
  });

  it("is held beside a failure's hold, and outlasts it", () => {
    const session = planned({ budget: { turns: 1 }, account: "acme" }, "a", { account: "acme" }).admit("a");
    session.fail("a", "authentication");
    expect(held(session)).toEqual([
      "eye authentication until released",
      "hand authentication until released",
      "hand budget_exhausted until released role_turns 1/1",
    ]);
    expect(held(session.stop("waiting").recover())).toEqual(["hand budget_exhausted until released role_turns 1/1"]);
  });

  it("does not change the end of a failure's hold", () => {
    const session = planned({ budget: { turns: 1 } }, "a").admit("a");
    session.fail("a", "rate_limited", { details: { retry_at: "2026-01-01T00:10:00Z" } });
    expect(held(session.stop("limit").recover())).toEqual([
      "hand budget_exhausted until released role_turns 1/1",
      "hand rate_limited until 2026-01-01T00:10:00Z",
    ]);
  });

  it("has no timer", () => {
    expect([
      ...planned({ budget: { turns: 1 } })
        .admit("a")
        .engine.ledger.timers.keys(),
    ]).toEqual(["notice"]);
  });

  it("holds no role in a closed session, and again in a reopened one", () => {
    const session = planned({ budget: { turns: 1 } }, "a").giveUp("a");
    session.command("cancel");
    expect([session.report.ended, held(session)]).toEqual(["cancelled cancelled", []]);
    expect(held(session.reopen())).toEqual(["hand budget_exhausted until released role_turns 1/1"]);
  });

  it("is not counted if no role has one", () => {
    const session = schedule().plan(given("a")).deliver("a");
    expect([session.engine.ledger.terms, session.engine.ledger.uses.size]).toEqual([
      { max_hold_s: 3600, retry_backoff_ms: 1000, accounts: [] },
      0,
    ]);
  });
});

describe("a role's budget of time", () => {
  const timed = (ids?: string) => planned({ budget: { wall_s: 10 } }, ids);
  /** The time so many seconds after the latest fact. */
  const after = (session: ScheduleSession, seconds: number) =>
    later(session.records.at(-1)?.record.received_at ?? "", seconds * 1000);

  it("counts the time of all turns, simultaneous ones too", () => {
    const session = timed().admit("a").admit("b").deliver("a");
    expect(used(session)).toBe("2/2000");
    session.deliver("b");
    expect(used(session)).toBe("2/4000");
  });

  it("holds the role when a turn ends, and lets open turns go on", () => {
    const session = timed().admit("a").admit("b");
    const turn = session.ticket("a").turn?.turn_id ?? "";
    session.submit("hand", "report", COMPLETED, {
      subject: "a",
      turn: { turn_id: turn, subject: "a", attempt: 1, run: 1 },
      at: after(session, 9),
    });
    expect([used(session), held(session), session.status("b")]).toEqual([
      "2/10000",
      ["hand budget_exhausted until released role_wall_s 10/10"],
      "in_progress",
    ]);
    const { ledger } = session.engine;
    const message = expect.stringContaining("has used its budget of 10 s of turns");
    expect([...ledger.holds.values()].map((hold) => stopFor(ledger, hold, after(session, 0)))).toMatchObject([
      { reason: "limit", message },
    ]);
  });

  it("counts turns that are withdrawn, held or stopped, each once", () => {
    const session = timed().admit("a").command("cancel", "a");
    expect(used(session)).toBe("1/1000");
    session.admit("b").fail("b", "trust");
    expect(used(session)).toBe("2/2000");
    session.admit("b").stop();
    expect(used(session)).toBe("3/3000");
    expect(used(session.recover())).toBe("3/3000");
    expect(used(session.admit("b").deliver("b"))).toBe("4/4000");
    expect(used(timed().admit("a").admit("b").stop())).toBe("2/3000");
  });

  it("holds no role in the session that the step closes", () => {
    const session = planned({ budget: { wall_s: 1 } }, "a")
      .admit("a")
      .command("cancel");
    expect([used(session), session.report.ended, held(session)]).toEqual(["1/1000", "cancelled cancelled", []]);
    expect(held(session.reopen())).toHaveLength(1);
  });

  it("does not count sleep, nor runs that a crash cut short", () => {
    const session = timed().admit("a");
    session.submit("scheduler", "time_shifted", { cause: "sleep", shift_ms: 3_600_000 }, { at: after(session, 3601) });
    session.fail("a", "timeout");
    expect([used(session), held(session)]).toEqual(["1/2000", []]);
    session.admit("a").recover(false);
    expect(used(session)).toBe("2/2000");
  });

  it("does not count the time in which a turn waits for a person's permission", () => {
    const session = timed().admit("a");
    const stamp = (subject: string) => {
      return { turn_id: session.ticket(subject).turn?.turn_id ?? "", subject, attempt: 1, run: 1 };
    };
    const ask = (subject: string, ask_id: string) => {
      const about = { role_id: "hand", action: "run: x", digest: ask_id };
      const payload = { subject: "permission", ask_id, about };
      session.submit("scheduler", "approval_request", payload, { subject, turn: stamp(subject) });
    };
    const allow = (ask_id: string) =>
      session.submit("user", "approval", { decision: "approved", ask_id }, { at: after(session, 60) });
    ask("a", "p1");
    ask("a", "p2");
    allow("p1");
    allow("p2");
    expect(used(session.deliver("a"))).toBe("1/2000");
    session.admit("b");
    ask("b", "p3");
    const gone = { turn_id: stamp("b").turn_id, code: "agent_failed", message: "It exited." };
    session.submit("scheduler", "turn_failed", gone, { subject: "b", turn: stamp("b"), at: after(session, 60) });
    expect(used(session)).toBe("2/3000");
  });
});

describe("a role's own rate", () => {
  const at = (session: ScheduleSession, seconds: number) =>
    later(session.records.at(-1)?.record.received_at ?? "", seconds * 1000);
  const isFree = (session: ScheduleSession, time: string) => !isHeld(session.engine.ledger, "hand", time);

  it("holds the role until its oldest turn is a minute ago", () => {
    const session = planned({ rate_limit: { turns_per_minute: 2 } }).admit("a");
    const oldest = session.records.at(-1)?.record.received_at ?? "";
    expect(held(session)).toEqual([]);
    session.admit("b");
    const end = later(oldest, 60_000);
    expect(held(session)).toEqual([`hand rate_limited until ${end} turns_per_minute 2/2`]);
    expect([isFree(session, later(end, -1)), isFree(session, end)]).toEqual([false, true]);
  });

  it("stays through recoveries, resumes and releases", () => {
    const session = planned({ rate_limit: { turns_per_minute: 2 } })
      .admit("a")
      .admit("b");
    const before = held(session);
    expect(held(session.recover(false))).toEqual(before);
    expect(held(session.stop().recover())).toEqual(before);
    expect(held(session.command("release", undefined, { role_id: "hand" }))).toEqual(before);
  });

  it("slides with the second oldest turn", () => {
    const session = planned({ rate_limit: { turns_per_minute: 2 } }).admit("a");
    session.submit("user", "user_command", { command: "tell", text: "Wait" }, { at: at(session, 30) });
    session.admit("b");
    const second = session.records.at(-1)?.record.received_at ?? "";
    session.submit("user", "user_command", { command: "tell", text: "Wait" }, { at: at(session, 58) });
    session.admit("c");
    expect(held(session)).toEqual([`hand rate_limited until ${later(second, 60_000)} turns_per_minute 2/2`]);
  });

  it("ends with a turn that comes long after", () => {
    const session = planned({ rate_limit: { turns_per_minute: 2 } })
      .admit("a")
      .admit("b");
    session.submit("user", "user_command", { command: "tell", text: "Wait" }, { at: at(session, 3600) });
    expect(held(session.admit("c"))).toEqual([]);
  });

  it("is shared by an account, at its lowest rate", () => {
    const session = schedule({
      roles: crew(
        { account: "acme", rate_limit: { turns_per_minute: 9 } },
        { account: "acme", rate_limit: { turns_per_minute: 2 } },
      ).map((role) => (role.type === "manager" ? { ...role, account: "another" } : role)),
    });
    session.plan(given("a"), given("b", "eye")).admit("a").admit("b");
    expect(held(session).map((line) => line.split(" ")[0])).toEqual(["eye", "hand"]);
    expect([...session.engine.ledger.holds.values()].map(({ account }) => account)).toEqual(["acme", "acme"]);
    expect(isHeld(session.engine.ledger, "boss", session.records.at(-1)?.record.received_at ?? "")).toBe(false);
  });

  it.each([
    [0.5, 120],
    [1.5, 60],
  ])("of %d a minute allows one turn in %d s", (turns_per_minute, seconds) => {
    const session = planned({ rate_limit: { turns_per_minute } }).admit("a");
    const end = later(session.records.at(-1)?.record.received_at ?? "", seconds * 1000);
    expect(held(session)).toEqual([`hand rate_limited until ${end} turns_per_minute 1/${turns_per_minute}`]);
  });

  it("has no timer, and holds no role in a closed session", () => {
    const session = planned({ rate_limit: { turns_per_minute: 1 } }, "a").admit("a");
    expect([...session.engine.ledger.timers.keys()]).toEqual(["notice"]);
    session.command("cancel");
    expect(held(session)).toEqual([]);
    expect(held(session.reopen())).toHaveLength(1);
  });
});
