import { describe, expect, it, test } from "vitest";
import { isHeldTooLong, stopFor } from "../../../src/kernel/holds.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { later, milliseconds } from "../../../src/protocol/timestamp.ts";
import { COMPLETED, CREW, schedule, ScheduleSession, task, type Options } from "./session.ts";

function working(options: Options = {}): ScheduleSession {
  return schedule(options).plan(task("a")).instruct("a");
}

function until(retry_at: string): JsonObject {
  return { details: { retry_at } };
}

/** Who is held, why and how long. */
function held(session: ScheduleSession): string[] {
  return [...session.engine.ledger.holds.values()]
    .map(({ role_id, reason, until: end = "released", since }) => `${role_id} ${reason} from ${since} until ${end}`)
    .sort();
}

function alarms(session: ScheduleSession): string[] {
  return [...session.engine.ledger.timers.entries()]
    .filter(([id]) => id.startsWith("hold:"))
    .map(([id, { due_at, passive }]) => `${id} ${due_at}${passive ? " passive" : ""}`);
}

describe("a hold", () => {
  test.each(["rate_limited", "authentication", "trust"])(
    "for %s is the role's: the turn is offered again, and no attempt is spent",
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

  it("tells whoever takes the turn again that it was interrupted", () => {
    const session = working().fail("a", "rate_limited");
    expect([...session.engine.ledger.turns.values()]).toMatchObject([{ run: 2, interrupted: true }]);
  });

  it("lasts until the time that the failure names, or a person acts", () => {
    const session = working().fail("a", "rate_limited", until("2026-01-01T00:30:00+00:15"));
    expect(held(session)).toEqual(["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:15:00Z"]);
    session.command("release", undefined, { role_id: "hand" });
    expect([held(session), alarms(session)]).toEqual([[], []]);
  });

  it("whose end is past, or too near, lasts for a back-off that doubles with each of the turn's", () => {
    const session = working({ config: { retry_backoff_ms: 20_000 } });
    const lasts = ["2020-01-01T00:00:00Z", "2026-01-01T00:00:28Z", "2026-01-01T00:00:00Z"].map((end) => {
      session.fail("a", "rate_limited", until(end));
      const { until: told = "", since = "" } = session.engine.ledger.holds.get("hand") ?? {};
      return milliseconds(told) - milliseconds(since);
    });
    expect([lasts, session.ticket("a").attempt]).toEqual([[20_000, 40_000, 60_000], 1]);
  });

  it("is one even where retries have no back-off", () => {
    const session = working({ config: { retry_backoff_ms: 0 } }).fail(
      "a",
      "rate_limited",
      until("2020-01-01T00:00:00Z"),
    );
    expect(held(session)).toEqual(["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:00:07.001Z"]);
  });

  it("whose end nobody can read has none", () => {
    expect(held(working().fail("a", "rate_limited", until("in an hour")))).toEqual([
      "hand rate_limited from 2026-01-01T00:00:07Z until released",
    ]);
  });

  it("may be said by the agent itself, and holds a manager as well", () => {
    const session = schedule()
      .requirement()
      .answer(undefined, "error", { code: "authentication", message: "Log in first" });
    expect([session.phase, session.open, [...session.engine.ledger.holds.keys()]]).toEqual([
      "planning",
      ["manager requirement"],
      ["boss"],
    ]);
  });

  it("makes the result of the run before it late", () => {
    const session = working().admit("a");
    const turn = { turn_id: session.ticket("a").turn?.turn_id ?? "", subject: "a", attempt: 1, run: 1 };
    session.fail("a", "rate_limited").admit("a").submit("hand", "report", COMPLETED, { subject: "a", turn });
    expect([session.last.disposition, session.status("a")]).toEqual(["late", "in_progress"]);
  });

  it("is over when the role is given a turn again", () => {
    const session = working().fail("a", "rate_limited", until("2026-01-01T00:10:00Z"));
    session.admit("a");
    expect([held(session), alarms(session)]).toEqual([[], []]);
  });

  it("without an end is lifted by whoever resumes; one with an end stays", () => {
    const session = working().fail("a", "authentication").stop().recover();
    expect([held(session), alarms(session)]).toEqual([[], []]);
    const waiting = working().fail("a", "rate_limited", until("2026-01-01T00:10:00Z")).stop().recover();
    expect([held(waiting), alarms(waiting)]).toEqual([
      ["hand rate_limited from 2026-01-01T00:00:07Z until 2026-01-01T00:10:00Z"],
      ["hold:hand 2026-01-01T01:00:07Z passive"],
    ]);
  });
});

/** Two that share an account, whose order in the alphabet is not that of the table, and one that has its own. */
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

  it("are held together, and nobody else is", () => {
    const session = shared().fail("a", "rate_limited", until("2026-01-01T00:10:00Z"));
    expect([...session.engine.ledger.holds.values()].map(({ role_id, account }) => [role_id, account])).toEqual([
      ["hand", "acme"],
      ["eye", "acme"],
    ]);
  });

  test.each(["hand", "eye"])("are released together, by the name of %s", (role_id) => {
    const session = shared().fail("a", "authentication").command("release", undefined, { role_id });
    expect([held(session), alarms(session)]).toEqual([[], []]);
  });

  it("are not released by the name of another", () => {
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
      expect(alarms(session)).toEqual(["hold:hand 2026-01-01T01:00:10Z passive"]);
    },
  );

  it("are held anew, and not from long ago, when the hold before had run out", () => {
    const session = shared().fail("a", "rate_limited", until("2026-01-01T00:00:11Z"));
    const from = session.engine.ledger.holds.get("hand")?.since;
    session.fail("b", "rate_limited", until("2026-01-01T00:10:00Z"));
    expect(session.engine.ledger.holds.get("hand")?.since).not.toBe(from);
  });

  it("have one timer together, whichever of them failed", () => {
    expect(alarms(shared().fail("b", "authentication"))).toEqual(["hold:hand 2026-01-01T01:00:10Z passive"]);
  });
});

/** How the session stops over the role when its time is up. */
function stop({ engine: { ledger } }: ScheduleSession): unknown {
  const [hold] = ledger.holds.values();
  if (!hold) throw new Error("nobody is held");
  return stopFor(ledger, hold, later(hold.since ?? "", (ledger.terms.max_hold_s ?? 0) * 1000));
}

describe("a role that is held longer than max_hold_s", () => {
  it("has its alarm, which decides nothing: the session stops when nothing else can go on", () => {
    const session = working().fail("a", "authentication");
    const before = session.open;
    expect(session.fireTimer("hold:hand").last.step).toEqual({ changes: [], envelopes: [], effects: [], commands: [] });
    expect([session.last.disposition, session.open, alarms(session)]).toEqual(["applied", before, []]);
    expect(stop(session)).toEqual({
      reason: "waiting",
      message: 'the role "hand" is held (authentication): log in with its program, then resume the session',
    });
    expect(session.stop("waiting").recover().open).toEqual(before);
    expect([held(session), alarms(session)]).toEqual([[], []]);
  });

  test.each([
    ["trust", "let its program trust the workspace"],
    ["rate_limited", "wait until its limit allows work again"],
  ])("is told what helps against %s", (code, remedy) => {
    expect(stop(working({ roles: SHARED }).fail("a", code))).toMatchObject({
      message: `the role "hand" (account "acme") is held (${code}): ${remedy}, then resume the session`,
    });
  });

  it("with an end beyond that stops it by the limit, with the time to resume at", () => {
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
  ])("is not waited for any more: %s", (_, at, is) => {
    const { ledger } = working().fail("a", "authentication").engine;
    expect([...ledger.holds.values()].map((hold) => isHeldTooLong(ledger, hold, at))).toEqual([is]);
  });

  it("counts from the failure, through stops and resumptions", () => {
    const session = working().fail("a", "rate_limited", until("2026-01-01T05:00:00Z"));
    const due = alarms(session);
    expect(alarms(session.stop().recover(false))).toEqual(due);
  });
});
