import type { Budget } from "../protocol/payload.ts";
import { type Ledger, put } from "./ledger.ts";
import type { Change, Command, Fact } from "./mode.ts";

/** The suffix that a child's session id adds to its parent's: the sequence of the record that requested the child. */
export function childId(session_id: string): string {
  return session_id.slice(session_id.lastIndexOf(".") + 1);
}

/** Whether a fact about a child is late, because the child was never requested, has already begun, or has ended. */
export function isLateOfChild(ledger: Ledger, fact: Fact): boolean {
  if (fact.payload_type !== "session_begun" && fact.payload_type !== "session_finished") return false;
  const status = ledger.children.get(childId(fact.payload.session_id))?.status;
  return fact.payload_type === "session_begun" ? status !== "offered" : status === undefined || status === "offered";
}

/** Adds the ledger's changes for a fact about a child. */
export function onChild(ledger: Ledger, fact: Fact, changes: Change[]): void {
  if (fact.payload_type === "session_finished") {
    changes.push({ drop: "child", id: childId(fact.payload.session_id) });
  } else if (fact.payload_type === "session_begun") {
    const child = ledger.children.get(childId(fact.payload.session_id));
    if (child) changes.push(put("child", child.child, { ...child, status: "open", budget: fact.payload.budget }));
  }
}

/** Adds the ledger's changes for a child that a mode opens or withdraws. A withdrawn child that has begun stays until it ends. */
export function askForChild(
  ledger: Ledger,
  command: Extract<Command, { do: "open_session" | "withdraw_session" }>,
  changes: Change[],
): void {
  if (command.do === "open_session") {
    const { do: _, ...child } = command;
    changes.push(put("child", child.child, { ...child, status: "offered" }));
    return;
  }
  const child = ledger.children.get(command.child);
  if (child?.status === "offered") changes.push({ drop: "child", id: command.child });
  else if (child) changes.push(put("child", child.child, { ...child, status: "withdrawn", reason: command.reason }));
}

/** The part of a parent's budget that is reserved for children that have begun. */
export function reservedOf(ledger: Ledger): Required<Pick<Budget, "turns" | "tokens" | "usd">> {
  const reserved = { turns: 0, tokens: 0, usd: 0 };
  for (const { status, budget } of ledger.children.values()) {
    if (status === "offered") continue;
    reserved.turns += budget?.turns ?? 0;
    reserved.tokens += budget?.tokens ?? 0;
    reserved.usd += budget?.usd ?? 0;
  }
  return reserved;
}
