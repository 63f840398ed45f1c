import { type Ledger, type LedgerTurn, put } from "./ledger.ts";
import { later } from "../protocol/timestamp.ts";
import type { Change, Fact, FactOf } from "./mode.ts";

/** How a turn fails whose connections the machine's sleep has cut. What an agent itself says to be wrong is not among them. */
const DROPPED_CODES: ReadonlySet<string> = new Set(["timeout", "idle_timeout", "agent_failed", "no_answer"]);

/** The machine slept: turns that were open meanwhile may fail of it, and are marked. */
export function onSleep(ledger: Ledger, fact: FactOf<"time_shifted">, changes: Change[]): void {
  if (fact.payload.cause !== "sleep") return;
  for (const turn of ledger.turns.values()) {
    if (turn.status !== "open") continue;
    const begun = turn.begun === undefined ? {} : { begun: later(turn.begun, fact.payload.shift_ms) };
    changes.push(put("turn", turn.turn_id, { ...turn, slept: true, ...begun }));
  }
}

/** Whether a fact is the failure of a turn that the machine's sleep cut short: it is repeated, no attempt is spent, and the mode is not told. */
export function isDropped(ledger: Ledger, fact: Fact): boolean {
  if (!fact.turn || fact.payload_type !== "turn_failed") return false;
  return ledger.turns.get(fact.turn.turn_id)?.slept === true && DROPPED_CODES.has(fact.payload.code);
}

/** Offers a dropped turn again, once for each sleep. */
export function repeatDropped(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = fact.turn && ledger.turns.get(fact.turn.turn_id);
  if (!turn) return;
  const { slept: _, ...rest } = turn;
  const again: LedgerTurn = { ...rest, status: "offered", run: turn.run + 1, interrupted: true };
  changes.push(put("turn", turn.turn_id, again));
}
