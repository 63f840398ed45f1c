import { describe, expect, it } from "vitest";
import { emptyLedger, type LedgerGrant } from "../../src/kernel/ledger.ts";
import type { FactOf } from "../../src/kernel/mode.ts";
import { onPermissionAsked } from "../../src/kernel/permissions.ts";

const ASKED = {
  payload_type: "approval_request",
  payload: { subject: "permission", ask_id: "p9", about: { role_id: "hand", digest: "d" } },
  subject: "a",
  turn: { turn_id: "t2" },
} as unknown as FactOf<"approval_request">;

/** The decision that a request gets with these grants in the ledger. */
function decided(grants: readonly (readonly [string, Partial<LedgerGrant>])[]): unknown {
  const ledger = emptyLedger();
  for (const [id, grant] of grants)
    ledger.grants.set(id, { turn_id: "t1", role_id: "hand", digest: "d", granted: true, ...grant });
  return onPermissionAsked(ledger, ASKED).envelopes.map(({ payload }) => [payload["decision"], payload["notes"]]);
}

describe("a decision on commands with the same prefix", () => {
  const about = (prefix?: string) => ({ role_id: "hand", digest: "other", ...(prefix && { prefix }) });
  const asked = (prefix?: string, role_id = "hand") =>
    ({ ...ASKED, payload: { ...ASKED.payload, about: { ...about(prefix), role_id } } }) as typeof ASKED;
  it("covers another command with it, and nothing else", () => {
    const ledger = emptyLedger();
    const grant = { turn_id: "t1", role_id: "hand", digest: "d", granted: true } as const;
    ledger.grants.set("p3", { ...grant, scope: "prefix", prefix: "npm test" });
    ledger.grants.set("p4", { ...grant, scope: "prefix" });
    const isDecided = (fact: typeof ASKED) => onPermissionAsked(ledger, fact).envelopes.length > 0;
    expect(isDecided(asked("npm test"))).toBe(true);
    expect([asked("npm publish"), asked(), asked("npm test", "foot")].map(isDecided)).toEqual([false, false, false]);
  });
});

describe("a request that several earlier decisions cover", () => {
  it.each([
    [
      "the one for its turn",
      "rejected",
      "p3",
      { scope: "once", turn_id: "t2", granted: false },
      { scope: "ticket", subject: "a" },
    ],
    [
      "the one for its ticket",
      "approved",
      "p3",
      { scope: "ticket", subject: "a" },
      { scope: "session", granted: false },
    ],
    ["a rejection", "rejected", "p3", { scope: "session", granted: false }, { scope: "session" }],
    ["the first id", "approved", "p3", { scope: "session" }, { scope: "session" }],
  ] as const)("is decided by %s, in whatever order they are loaded", (_, decision, id, first, second) => {
    const grants = [
      [id, first],
      ["p4", second],
    ] as const;
    for (const order of [grants, grants.toReversed()])
      expect(decided(order)).toEqual([[decision, `as decided with ${id}`]]);
  });
});
