import { withConversation } from "./conversations.ts";
import { type Ledger, offeredAgain, put, turnOf } from "./ledger.ts";
import { type Instant, later } from "../protocol/timestamp.ts";
import type { Change, Fact, FactOf } from "./mode.ts";
import { patched } from "./step.ts";

/** The failures of a turn whose connections were lost while the machine slept. Failures that the agent itself reports are not among them. */
const DROPPED_CODES: ReadonlySet<string> = new Set(["timeout", "idle_timeout", "agent_failed", "no_answer"]);

/** Marks the turns that were open while the machine slept. */
export function onSleep(ledger: Ledger, fact: FactOf<"time_shifted">, changes: Change[]): void {
  if (fact.payload.cause !== "sleep") return;
  for (const turn of ledger.turns.values()) {
    if (turn.status !== "open") continue;
    const shifted = (at: Instant | undefined) => at && later(at, fact.payload.shift_ms);
    const { begun, waits } = turn;
    changes.push(
      put("turn", turn.turn_id, patched(turn, { slept: true, begun: shifted(begun), waits: shifted(waits) })),
    );
  }
}

/** Whether a turn failed because the machine slept. It is repeated without spending an attempt, and the mode does not see the fact. */
export function failedOfSleep(ledger: Ledger, fact: Fact): boolean {
  if (!fact.turn || fact.payload_type !== "turn_failed") return false;
  return turnOf(ledger, fact)?.slept === true && DROPPED_CODES.has(fact.payload.code);
}

/** Offers a turn again that failed because of sleep, once per sleep. */
export function repeatAfterSleep(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = turnOf(ledger, fact);
  if (!turn) return;
  const again = patched(offeredAgain(withConversation(turn, fact)), { slept: undefined });
  changes.push(put("turn", turn.turn_id, again));
}
