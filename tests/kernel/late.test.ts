import { describe, expect, it } from "vitest";
import { advance, type Engine } from "../../src/kernel/engine.ts";
import { applyToLedger, emptyLedger, type LedgerTurn, put } from "../../src/kernel/ledger.ts";
import type { Fact, Mode } from "../../src/kernel/mode.ts";

/** A mode that would do something about everything it is asked. */
const EAGER = {
  decide: () => ({ changes: [], envelopes: [], effects: [], commands: [{ do: "clear_timer", timer_id: "x" }] }),
  apply: () => {},
} as unknown as Mode<object>;

const TURN: LedgerTurn = {
  turn_id: "t1",
  seat: { type: "worker" },
  subject: "a",
  priority: 3,
  attempt: 1,
  run: 2,
  status: "open",
  role_id: "hand",
};

function engine(turn: Partial<LedgerTurn> = {}): Engine<object> {
  const ledger = emptyLedger();
  applyToLedger(ledger, put("turn", "t1", { ...TURN, ...turn }));
  applyToLedger(ledger, put("timer", "here", { due_at: "2026-01-01T00:00:00Z" }));
  applyToLedger(ledger, put("check", "k1", { check_id: "k1", criteria: [] }));
  return { mode: EAGER, state: {}, ledger };
}

const BASE = { sequence: 9, received_at: "2026-01-01T00:00:09Z", source: "hand" };
const ended = (run: number, turn_id = "t1") =>
  ({
    ...BASE,
    payload_type: "report",
    payload: { status: "completed" },
    turn: { turn_id, attempt: 1, run },
  }) as unknown as Fact;
const alarm = (timer_id: string) =>
  ({ ...BASE, payload_type: "timer_fired", payload: { timer_id, due_at: BASE.received_at } }) as unknown as Fact;
const checked = (check_id: string) =>
  ({ ...BASE, payload_type: "check_result", payload: { check_id, results: [] } }) as unknown as Fact;

describe("what comes too late", () => {
  it.each([
    ["the end of an earlier run", ended(1)],
    ["the end of a run that was never given", ended(3)],
    ["the end of a turn that is over", ended(2, "t0")],
    ["an alarm that was taken back", alarm("gone")],
    ["checks that were dropped", checked("k0")],
  ])("is recorded and moves nothing: %s", (_, fact) => {
    const at = engine();
    const before = structuredClone(at.ledger);
    expect(advance(at, fact)).toMatchObject({ disposition: "late", changes: [], step: { commands: [] } });
    expect(at.ledger).toEqual(before);
  });

  it("is also the end of a run that waits to be given again", () => {
    expect(advance(engine({ status: "offered" }), ended(2)).disposition).toBe("late");
    expect(advance(engine({ status: "asked" }), ended(2)).disposition).toBe("late");
  });

  it("is not what is still open", () => {
    for (const fact of [ended(2), alarm("here"), checked("k1")])
      expect(advance(engine(), fact).disposition).toBe("applied");
  });
});
