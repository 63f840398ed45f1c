import { describe, expect, test } from "vitest";
import { applyToLedger, emptyLedger, type LedgerHold, put } from "../../src/kernel/ledger.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";
import { type Rest, restOf } from "../../src/runtime/idle-policy.ts";
import { Timers } from "../../src/runtime/time/timers.ts";

const AT = { early: "2026-01-01T00:00:30Z", late: "2026-01-01T00:01:00Z" };
const SINCE = "2026-01-01T00:00:00Z";

const LOCKED: LedgerHold = { role_id: "hand", reason: "authentication", since: SINCE };
const LIMITED: LedgerHold = { role_id: "hand", reason: "rate_limited", since: SINCE, until: "2026-01-01T00:00:50Z" };
const FOR_LONG: LedgerHold = { ...LIMITED, until: "2026-01-01T05:00:00Z" };
const SPENT: LedgerHold = {
  role_id: "eye",
  reason: "budget_exhausted",
  since: SINCE,
  limit: { limit: "role_turns", used: 2, max: 2 },
};

interface Case {
  readonly holds: readonly LedgerHold[];
  readonly at?: keyof typeof AT;
  readonly wanted?: readonly string[];
  readonly forPeople?: boolean;
  readonly asks?: boolean;
}

/** The verdict with `max_hold_s` 60: `waits`, `stuck`, or the reason of the stop and the role it names. */
function rest({ holds, at = "early", wanted = ["hand", "eye"], forPeople = false, asks = false }: Case): string {
  const ledger = emptyLedger();
  applyToLedger(ledger, put("terms", "terms", { max_hold_s: 60, accounts: [] }));
  for (const hold of holds) applyToLedger(ledger, put("hold", hold.role_id, hold));
  if (asks) applyToLedger(ledger, put("ask", "c1", { ask_id: "c1", kind: "questions", record: 1 }));
  const clock: Clock = { ...systemClock, now: () => AT[at] };
  const timers = new Timers(ledger, clock, () => {});
  const end: Rest = restOf(ledger, timers, AT[at], forPeople, (role_id) => wanted.includes(role_id), false);
  if (end.kind !== "stops") return end.kind;
  return [end.with.reason, ...(/"(\w+)"/.exec(end.with.message)?.slice(1) ?? [])].join(" ");
}

describe("an idle session", () => {
  test.each<[string, Case, string]>([
    ["waits for a hold that ends in time", { holds: [LIMITED] }, "waits"],
    ["does not wait for a hold beyond max_hold_s", { holds: [FOR_LONG], forPeople: true }, "limit hand"],
    ["stops at a hold without an end", { holds: [LOCKED] }, "waiting hand"],
    ["waits for a person who may release it", { holds: [LOCKED], forPeople: true }, "waits"],
    [
      "stops waiting for that person after max_hold_s",
      { holds: [LOCKED], forPeople: true, at: "late" },
      "waiting hand",
    ],
    ["keeps waiting while a question is open", { holds: [LOCKED], forPeople: true, at: "late", asks: true }, "waits"],
    ["stops at a spent budget", { holds: [SPENT], forPeople: true }, "limit eye"],
    [
      "names a spent budget rather than a hold of an unwanted role",
      { holds: [LIMITED, SPENT], wanted: ["eye"] },
      "limit eye",
    ],
    ["does not wait for a hold of an unwanted role", { holds: [LIMITED], wanted: [], asks: true }, "waiting"],
    ["is stuck if only unwanted roles are held", { holds: [LOCKED], wanted: [], forPeople: true }, "stuck"],
  ])("%s", (_, given, expected) => {
    expect(rest(given)).toBe(expected);
  });
});
