import type { Conversation } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { type Ledger, type LedgerTurn, put, turnOf } from "./ledger.ts";
import type { Change, Fact, FactOf } from "./mode.ts";
import { patched } from "./step.ts";

/** The conversation of a turn, as named in its request. `alone` starts one that no later turn continues. */
export interface ChosenConversation extends Partial<Conversation> {
  readonly how: "alone" | "resume" | "fork";
}

/**
 * Returns the conversation that a turn continues; undefined if it starts a new one. An interrupted turn resumes its own, unless the role restarts its
 * work. Other turns follow the role's policy: they resume the role's conversation about the same subject until it exceeds `max_conversation_tokens`.
 * With `fork`, the first turn about a subject starts from a copy of the role's conversation about the session.
 */
export function conversationFor(
  ledger: Ledger,
  { subject, interrupted, conversation: own, role_id: before }: LedgerTurn,
  { role_id, conversation: policy, recovery, max_conversation_tokens }: Role,
  alone: boolean,
): ChosenConversation | undefined {
  if (policy === undefined) return undefined;
  if (interrupted && own && before === role_id && recovery !== "restart") return { how: "resume", ...own };
  if (alone) return { how: "alone" };
  if (policy === "fresh") return undefined;
  const fits = (kept: Conversation | undefined) =>
    kept !== undefined && (kept.tokens ?? 0) <= (max_conversation_tokens ?? Number.POSITIVE_INFINITY);
  const kept = ledger.conversations.get(keyOf(role_id, subject));
  if (kept) return fits(kept) ? { how: "resume", ...kept } : undefined;
  const common = policy === "fork" && subject !== undefined ? ledger.conversations.get(keyOf(role_id)) : undefined;
  return common && fits(common) ? { how: "fork", ...common } : undefined;
}

/** Stores the conversation of an ended turn, or drops one that its program no longer has. */
export function keepConversation(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = turnOf(ledger, fact);
  if (!turn || turn.alone) return;
  const key = keyOf(turn.role_id ?? "", turn.subject);
  if (isGone(fact)) {
    if (ledger.conversations.has(key)) changes.push({ drop: "conversation", id: key });
  } else if (fact.conversation) changes.push(put("conversation", key, fact.conversation));
}

/** Adds to a turn the conversation of the run that was cut short, for the next run. */
export function withConversation(turn: LedgerTurn, fact: Fact): LedgerTurn {
  return patched(turn, { conversation: isGone(fact) ? undefined : (fact.conversation ?? turn.conversation) });
}

/** The conversation that a request continues or copies, for the ledger. */
export function chosenBy({ payload }: FactOf<"turn_request">): Conversation | undefined {
  const { how: _, id, ...known } = payload.conversation ?? { how: "alone" };
  return id === undefined ? undefined : { id, ...known };
}

/** Whether a turn failed because the program no longer has the conversation. */
function isGone(fact: Fact): boolean {
  return fact.payload_type === "turn_failed" && fact.payload.details?.["conversation_gone"] === true;
}

/** The key of a role's conversation about a subject, or about the session. */
export function keyOf(role_id: string, subject?: string): string {
  return subject === undefined ? role_id : `${role_id}/${subject}`;
}
