import { describe, expect, it, test } from "vitest";
import { isHeldTooLong, stopFor } from "../../../src/kernel/holds.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { later, milliseconds } from "../../../src/protocol/timestamp.ts";
import { CREW, type Options, schedule, type ScheduleSession, task } from "./session.ts";

function working(options: Options = {}): ScheduleSession {
  return schedule(options).plan(task("a")).instruct("a");
}

function until(retry_at: string): JsonObject {
  return { details: { retry_at } };
}

/** The holds, as `role reason from … until …`. */
function held(session: ScheduleSession): string[] {
  return [...session.engine.ledger.holds.values()]
    .map(({ role_id, reason, until: end = "released", since }) => `${role_id} ${reason} from ${since} until ${end}`)
    .sort();
}

function holdTimers(session: ScheduleSession): string[] {
  return [...session.engine.ledger.timers.entries()]
    .filter(([id]) => id.startsWith("hold:"))
    .map(([id, { due_at, passive }]) => `${id} ${due_at}${passive ? " passive" : ""}`);
}

describe("a hold", () => {
  test.each(["rate_limited", "authentication", "trust"])(
    "for %s offers the turn again and spends no attempt",
    (code) => {
      const session = working().fail("a", code);
      expect([session.last.disposition, session.moved, session.status("a"), session.open]).toEqual([
        "applied",
        [],
        "in_progress",
        ["worker instruction a"],
      ]);
      expect(held(session)).toEqual([`hand ${code} from 2026-01-01T00:00:07Z until released`]);
      session.admit("a");
      expect([session.ticket("a").attempt, session.ticket("a").retries]).toEqual([1, undefined]);
    },
  );

  it("marks the turn as interrupted", () => {
    const session = working().fail("a", "rate_limited");
    expect([...session.engine.ledger.turns.values()]).toMatchObject([{ run: 2, interrupted: true }]);
  });

  it("lasts until the time that the failure names, or a release", () => {
    const session = working().fail("a", "rate_limited", until("2026-01-01T00:30:00+00:15"));
    expect(held(session)).toEqual(["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:15:00Z"]);
    session.command("release", undefined, { role_id: "hand" });
    expect([held(session), holdTimers(session)]).toEqual([[], []]);
  });

  it("with a past or near end lasts for a back-off that doubles", () => {
    const session = working({ config: { retry_backoff_ms: 20_000 } });
    const lasts = ["2020-01-01T00:00:00Z", "2026-01-01T00:00:28Z", "2026-01-01T00:00:00Z"].map((end) => {
      session.fail("a", "rate_limited", until(end));
      const { until: told = "", since = "" } = session.engine.ledger.holds.get("hand") ?? {};
      return milliseconds(told) - milliseconds(since);
    });
    expect([lasts, session.ticket("a").attempt]).toEqual([[20_000, 40_000, 60_000], 1]);
  });

  it("lasts at least a moment without back-off", () => {
    const session = working({ config: { retry_backoff_ms: 0 } }).fail(
      "a",
      "rate_limited",
      until("2020-01-01T00:00:00Z"),
    );
    expect(held(session)).toEqual(["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:00:07.001Z"]);
  });

  it("has no end if its time is invalid", () => {
    expect(held(working().fail("a", "rate_limited", until("in an hour")))).toEqual([
      "hand rate_limited from 2026-01-01T00:00:07Z until released",
    ]);
  });

  it("may come from an error answer, and from a manager", () => {
    const session = schedule()
      .requirement()
      .answer(undefined, "error", { code: "authentication", message: "Log in first" });
    expect([session.phase, session.open, [...session.engine.ledger.holds.keys()]]).toEqual([
      "planning",
      ["manager requirement"],
      ["boss"],
    ]);
  });

  it("ends when the role is given a turn", () => {
    const session = working().fail("a", "rate_limited", until("2026-01-01T00:10:00Z"));
    session.admit("a");
    expect([held(session), holdTimers(session)]).toEqual([[], []]);
  });

  it("ends on resume if it has no end of its own", () => {
    const session = working().fail("a", "authentication").stop().recover();
    expect([held(session), holdTimers(session)]).toEqual([[], []]);
    const waiting = working().fail("a", "rate_limited", until("2026-01-01T00:10:00Z")).stop().recover();
    expect([held(waiting), holdTimers(waiting)]).toEqual([
      ["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:10:00Z"],
      ["hold:hand 2026-01-01T01:00:07Z passive"],
    ]);
  });
});

/** Two roles that share an account, not in alphabetical order, and one with its own. */
const SHARED: readonly Role[] = CREW.map((role) => ({
  ...role,
  ...(role.role_id === "boss" ? { account: "own" } : { account: "acme" }),
}));

describe("roles of one account", () => {
  const shared = (config: Options["config"] = {}) =>
    schedule({ roles: SHARED, config })
      .plan(task("a", { assigned_to: { role_id: "hand" } }), task("b", { assigned_to: { role_id: "eye" } }))
      .instruct("a")
      .instruct("b")
      .admit("a")
      .admit("b");

  it("are held together, without others", () => {
    const session = shared().fail("a", "rate_limited", until("2026-01-01T00:10:00Z"));
    expect([...session.engine.ledger.holds.values()].map(({ role_id, account }) => [role_id, account])).toEqual([
      ["hand", "acme"],
      ["eye", "acme"],
    ]);
  });

  test.each(["hand", "eye"])("are released together by the id %s", (role_id) => {
    const session = shared().fail("a", "authentication").command("release", undefined, { role_id });
    expect([held(session), holdTimers(session)]).toEqual([[], []]);
  });

  it("are not released by another id", () => {
    expect(held(shared().fail("a", "trust").command("release", undefined, { role_id: "boss" }))).toHaveLength(2);
  });

  test.each([
    ["a later end", "2026-01-01T00:20:00Z", "rate_limited", "2026-01-01T00:20:00Z"],
    ["an earlier end", "2026-01-01T00:05:00Z", "rate_limited", "2026-01-01T00:10:00Z"],
    ["no end", undefined, "authentication", "released"],
  ])(
    "that fail one after the other with %s are held for the longest, from the first failure on",
    (_, end, code, told) => {
      const session = shared().fail("a", "rate_limited", until("2026-01-01T00:10:00Z"));
      const from = session.engine.ledger.holds.get("hand")?.since;
      session.fail("b", code, end === undefined ? {} : until(end));
      expect(held(session)).toEqual(["eye", "hand"].map((id) => `${id} ${code} from ${from} until ${told}`));
      expect(holdTimers(session)).toEqual(["hold:hand 2026-01-01T01:00:10Z passive"]);
    },
  );

  it("are held from the second failure if the first hold had ended", () => {
    const session = shared().fail("a", "rate_limited", until("2026-01-01T00:00:11Z"));
    const from = session.engine.ledger.holds.get("hand")?.since;
    session.fail("b", "rate_limited", until("2026-01-01T00:10:00Z"));
    expect(session.engine.ledger.holds.get("hand")?.since).not.toBe(from);
  });

  it("have one timer together, whichever failed", () => {
    expect(holdTimers(shared().fail("b", "authentication"))).toEqual(["hold:hand 2026-01-01T01:00:10Z passive"]);
  });
});

/** How the session stops when the role has been held for max_hold_s. */
function stop({ engine: { ledger } }: ScheduleSession): unknown {
  const [hold] = ledger.holds.values();
  if (!hold) throw new Error("no role is held");
  return stopFor(ledger, hold, later(hold.since ?? "", (ledger.terms.max_hold_s ?? 0) * 1000));
}

describe("a role that is held longer than max_hold_s", () => {
  it("has a timer that decides nothing; the session stops if nothing can go on", () => {
    const session = working().fail("a", "authentication");
    const before = session.open;
    expect(session.fireTimer("hold:hand").last.step).toEqual({ changes: [], envelopes: [], effects: [], commands: [] });
    expect([session.last.disposition, session.open, holdTimers(session)]).toEqual(["applied", before, []]);
    expect(stop(session)).toEqual({
      reason: "waiting",
      message: 'the role "hand" is held (authentication): log in with its program, then resume the session',
    });
    expect(session.stop("waiting").recover().open).toEqual(before);
    expect([held(session), holdTimers(session)]).toEqual([[], []]);
  });

  test.each([
    ["trust", "let its program trust the workspace"],
    ["rate_limited", "wait until its limit allows work again"],
  ])("is reported with the remedy for %s", (code, remedy) => {
    expect(stop(working({ roles: SHARED }).fail("a", code))).toMatchObject({
      message: `the role "hand" (account "acme") is held (${code}): ${remedy}, then resume the session`,
    });
  });

  it("stops the session at the limit, with the time to resume", () => {
    const session = working({ config: { max_hold_s: 60 } }).fail("a", "rate_limited", until("2026-01-01T05:00:00Z"));
    expect(stop(session)).toMatchObject({
      reason: "limit",
      message: expect.stringMatching(
        /"hand" is held until 2026-01-01T05:00:00Z \(rate_limited\), longer than max_hold_s/,
      ),
      limit: { limit: "max_hold_s", used: 60, max: 60 },
    });
  });

  it.each([
    ["a moment before", "2026-01-01T01:00:06.999Z", false],
    ["at that moment", "2026-01-01T01:00:07Z", true],
  ])("is waited for no longer: %s", (_, at, is) => {
    const { ledger } = working().fail("a", "authentication").engine;
    expect([...ledger.holds.values()].map((hold) => isHeldTooLong(ledger, hold, at))).toEqual([is]);
  });

  it("counts from the failure, through stops and resumes", () => {
    const session = working().fail("a", "rate_limited", until("2026-01-01T05:00:00Z"));
    const due = holdTimers(session);
    expect(holdTimers(session.stop().recover(false))).toEqual(due);
  });
});
