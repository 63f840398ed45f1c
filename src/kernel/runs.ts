import type { Ledger, LedgerTurn } from "./ledger.ts";
import type { Change } from "./mode.ts";

/** The runs that end with a step, from the changes that it makes to their turns. */
export function runsEnded(ledger: Ledger, changes: readonly Change[]): Set<LedgerTurn> {
  const ended = new Set<LedgerTurn>();
  for (const change of changes) {
    if (("put" in change ? change.put : change.drop) !== "turn") continue;
    const before = ledger.turns.get(change.id);
    const after = "put" in change ? (change.value as unknown as LedgerTurn) : undefined;
    if (before?.status === "open" && after?.status !== "open") ended.add(before);
  }
  return ended;
}
