import { describe, expect, it, test } from "vitest";
import { advance, type Engine } from "../../src/kernel/engine.ts";
import { applyToLedger, emptyLedger, type LedgerTurn, put } from "../../src/kernel/ledger.ts";
import type { Command, Fact, Mode } from "../../src/kernel/mode.ts";

const TURN: LedgerTurn = {
  turn_id: "t1",
  seat: { type: "worker" },
  priority: 3,
  attempt: 1,
  run: 2,
  status: "open",
  role_id: "hand",
};
const AT = "2026-01-01T00:00:09Z";

/** A session with a turn, whose mode answers each fact with the same commands. */
function engine(...commands: readonly Command[]): Engine<object> {
  const ledger = emptyLedger();
  applyToLedger(ledger, put("turn", "t1", TURN));
  const decide = () => ({ changes: [], envelopes: [], effects: [], commands });
  return { mode: { decide, apply: () => {} } as unknown as Mode<object>, state: {}, ledger };
}

function fact(payload_type: string, payload: object): Fact {
  return { sequence: 9, received_at: AT, source: "scheduler", payload_type, payload } as unknown as Fact;
}

describe("a session that is over", () => {
  it("has nothing left that is under way, and says how it ended", () => {
    const at = engine({ do: "finish", outcome: "failed", reason: "tickets_failed", report: {} });
    for (const change of [
      put("timer", "notice", { due_at: AT, passive: true }),
      put("ask", "c1", { ask_id: "c1", kind: "questions", record: 4 }),
      put("check", "k4", { check_id: "k4", criteria: [] }),
      put("child", "4", { child: "4", mode: "debate", input: {}, budget: {}, status: "open" }),
      put("hold", "hand", { role_id: "hand", reason: "trust" }),
    ])
      applyToLedger(at.ledger, change);
    advance(at, fact("user_command", { command: "cancel" }));
    const { turns, timers, asks, checks, children, holds, figures } = at.ledger;
    expect([turns, timers, asks, checks, children, holds].map(({ size }) => size)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(figures.closed).toEqual({ outcome: "failed", reason: "tickets_failed" });
  });
});

describe("a turn whose scheduler is gone", () => {
  test.each([
    ["is not held against it where that stopped", true, 0],
    ["counts one more death where that died", false, 1],
  ])("is offered again as one that was interrupted, and %s", (_, graceful, died) => {
    const at = engine();
    for (const run of [3, 4])
      advance(at, fact("session_recovered", { graceful, epoch: 2, turns: [{ turn_id: "t1", run }] }));
    const again = { ...TURN, run: 4, status: "offered", interrupted: true, recoveries: 2 * died };
    expect(at.ledger.turns.get("t1")).toEqual(again);
    expect(at.ledger.figures.recoveries).toBe(2 * died);
  });
});

it("only the word that releases a role ends its hold", () => {
  const at = engine();
  applyToLedger(at.ledger, put("hold", "hand", { role_id: "hand", reason: "trust" }));
  for (const payload of [{ command: "tell", role_id: "hand" }, { command: "release" }]) {
    advance(at, fact("user_command", payload));
    expect(at.ledger.holds.size).toBe(1);
  }
  advance(at, fact("user_command", { command: "release", role_id: "hand" }));
  expect(at.ledger.holds.size).toBe(0);
});

describe("a turn that was open while the machine slept", () => {
  const turn = { turn_id: "t1", attempt: 1, run: 2 };
  const failed = (code: string) => ({ ...fact("turn_failed", { turn_id: "t1", code, message: "" }), turn }) as Fact;
  const slept = (cause: string, status: "open" | "offered" = "open") => {
    const at = engine({ do: "stop_session", reason: "limit", message: "" });
    applyToLedger(at.ledger, put("turn", "t1", { ...TURN, status }));
    advance(at, fact("time_shifted", { cause, shift_ms: 3_600_000 }));
    return at;
  };

  it("is repeated under a higher run where it fails as of a cut connection, and its mode hears of neither", () => {
    const at = slept("sleep");
    const done = advance(at, failed("no_answer"));
    expect(at.ledger.turns.get("t1")).toEqual({ ...TURN, run: 3, status: "offered", interrupted: true });
    expect([done.disposition, done.step.commands, at.ledger.figures.stopping]).toEqual(["applied", [], undefined]);
  });

  test.each([
    ["fails of something else", "sleep", "malformed_output"],
    ["was open while only the clock was set", "clock", "no_answer"],
  ])("has failed where it %s", (_, cause, code) => {
    const at = slept(cause);
    expect(advance(at, failed(code)).step.commands).toHaveLength(1);
    expect(at.ledger.turns.size).toBe(0);
  });

  it("is one that somebody held: what was only offered is not marked", () => {
    expect(slept("sleep", "offered").ledger.turns.get("t1")).toEqual({ ...TURN, status: "offered" });
  });
});
