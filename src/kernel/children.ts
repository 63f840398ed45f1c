import type { Budget } from "../protocol/payload.ts";
import { type Ledger, put } from "./ledger.ts";
import type { Change, Command, Fact } from "./mode.ts";

/** What the session's id of a child adds to its parent's: the sequence of the record that it was asked for with. */
export function childId(session_id: string): string {
  return session_id.slice(session_id.lastIndexOf(".") + 1);
}

/** Whether a fact tells of a child that cannot have come to that: it was never asked for, or is over. */
export function isLateOfChild(ledger: Ledger, fact: Fact): boolean {
  if (fact.payload_type !== "session_begun" && fact.payload_type !== "session_finished") return false;
  const status = ledger.children.get(childId(fact.payload.session_id))?.status;
  return fact.payload_type === "session_begun" ? status !== "offered" : status === undefined || status === "offered";
}

/** The engine's changes on what a fact tells of a child. */
export function onChild(ledger: Ledger, fact: Fact, changes: Change[]): void {
  if (fact.payload_type === "session_finished") {
    changes.push({ drop: "child", id: childId(fact.payload.session_id) });
  } else if (fact.payload_type === "session_begun") {
    const child = ledger.children.get(childId(fact.payload.session_id));
    if (child) changes.push(put("child", child.child, { ...child, status: "open", budget: fact.payload.budget }));
  }
}

/** A child that a mode asks for, or asks for no longer: one that was begun has still to come to its end. */
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

/** What children that are under way may still use of what their parent may. */
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
