import { withConversation } from "./conversations.ts";
import { type Ledger, type LedgerTurn, put } from "./ledger.ts";
import { later } from "../protocol/timestamp.ts";
import type { Change, Fact, FactOf } from "./mode.ts";

/** The failures of a turn whose connections were lost while the machine slept. Failures that the agent itself reports are not among them. */
const DROPPED_CODES: ReadonlySet<string> = new Set(["timeout", "idle_timeout", "agent_failed", "no_answer"]);

/** Marks the turns that were open while the machine slept. */
export function onSleep(ledger: Ledger, fact: FactOf<"time_shifted">, changes: Change[]): void {
  if (fact.payload.cause !== "sleep") return;
  for (const turn of ledger.turns.values()) {
    if (turn.status !== "open") continue;
    const begun = turn.begun === undefined ? {} : { begun: later(turn.begun, fact.payload.shift_ms) };
    const waits = turn.waits === undefined ? {} : { waits: later(turn.waits, fact.payload.shift_ms) };
    changes.push(put("turn", turn.turn_id, { ...turn, slept: true, ...begun, ...waits }));
  }
}

/** Whether a turn failed because the machine slept. It is repeated without spending an attempt, and the mode does not see the fact. */
export function failedOfSleep(ledger: Ledger, fact: Fact): boolean {
  if (!fact.turn || fact.payload_type !== "turn_failed") return false;
  return ledger.turns.get(fact.turn.turn_id)?.slept === true && DROPPED_CODES.has(fact.payload.code);
}

/** Offers a turn again that failed because of sleep, once per sleep. */
export function repeatAfterSleep(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = fact.turn && ledger.turns.get(fact.turn.turn_id);
  if (!turn) return;
  const { slept: _, ...rest } = withConversation(turn, fact);
  const again: LedgerTurn = { ...rest, status: "offered", run: turn.run + 1, interrupted: true };
  changes.push(put("turn", turn.turn_id, again));
}
