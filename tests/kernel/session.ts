import { advance, type Engine } from "../../src/kernel/engine.ts";
import { applyToLedger, emptyLedger, type LedgerTurn, put } from "../../src/kernel/ledger.ts";
import type { Change, Command, Fact, Mode } from "../../src/kernel/mode.ts";

export const AT = "2026-01-01T00:00:09Z";

/** An open turn, in its second run. */
export const TURN: LedgerTurn = {
  turn_id: "t1",
  seat: { type: "worker" },
  priority: 3,
  attempt: 1,
  run: 2,
  status: "open",
  role_id: "hand",
};

export const STAMP = { turn_id: "t1", attempt: 1, run: 2 };

/** A session whose ledger has these rows, and whose mode answers every fact with the same commands. */
export function sessionWith(rows: readonly Change[], ...commands: readonly Command[]): Engine<object> {
  const ledger = emptyLedger();
  for (const row of rows) applyToLedger(ledger, row);
  const decide = () => ({ changes: [], envelopes: [], effects: [], commands });
  return { mode: { decide, apply: () => {}, phase: () => "working" } as unknown as Mode<object>, state: {}, ledger };
}

/** The same, with `TURN` changed in these fields. */
export function sessionWithTurn(turn: Partial<LedgerTurn> = {}, ...commands: readonly Command[]): Engine<object> {
  return sessionWith([put("turn", "t1", { ...TURN, ...turn })], ...commands);
}

export function fact(payload_type: string, payload: object, more: object = {}): Fact {
  return { sequence: 9, received_at: AT, source: "scheduler", payload_type, payload, ...more } as unknown as Fact;
}

/** A fact that belongs to `TURN`, or to another run of it. */
export function turnFact(payload_type: string, payload: object, usage?: object, run = 2): Fact {
  return fact(payload_type, payload, { turn: { ...STAMP, run }, ...(usage ? { usage } : {}) });
}

export function turnFailed(code: string, usage?: object): Fact {
  return turnFact("turn_failed", { turn_id: "t1", code, message: "" }, usage);
}

/** Advances the session by several facts. */
export function play(session: Engine<object>, ...facts: readonly Fact[]): Engine<object> {
  for (const one of facts) advance(session, one);
  return session;
}
