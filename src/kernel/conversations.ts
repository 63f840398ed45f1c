import type { Conversation } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { type Ledger, type LedgerTurn, put } from "./ledger.ts";
import type { Change, Fact, FactOf } from "./mode.ts";

/** The conversation of a turn, as its request names it. `alone` begins one that no later turn goes on with. */
export interface ChosenConversation extends Partial<Conversation> {
  readonly how: "alone" | "resume" | "fork";
}

/**
 * The conversation that a turn goes on with; undefined if it begins a new one. A turn that was interrupted resumes its own, unless the
 * role restarts its work. Other turns follow the role's policy: they resume what the role said before about the same subject, until that
 * has `max_conversation_tokens`. With `fork`, the first turn about a subject begins with a copy of what the role knows of the session.
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

/** Keeps the conversation in which a turn ended, or forgets one that its program no longer has. */
export function keepConversation(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = fact.turn && ledger.turns.get(fact.turn.turn_id);
  if (!turn || turn.alone) return;
  const key = keyOf(turn.role_id ?? "", turn.subject);
  if (isGone(fact)) {
    if (ledger.conversations.has(key)) changes.push({ drop: "conversation", id: key });
  } else if (fact.conversation) changes.push(put("conversation", key, fact.conversation));
}

/** The turn with the conversation of the run that was cut short, for the next run. */
export function withConversation(turn: LedgerTurn, fact: Fact): LedgerTurn {
  const { conversation, ...rest } = turn;
  if (isGone(fact)) return rest;
  const latest = fact.conversation ?? conversation;
  return latest === undefined ? rest : { ...rest, conversation: latest };
}

/** The conversation that a request goes on with or copies, for the ledger. */
export function chosenBy({ payload }: FactOf<"turn_request">): Pick<LedgerTurn, "chosen"> {
  const { how: _, id, ...known } = payload.conversation ?? { how: "alone" };
  return id === undefined ? {} : { chosen: { id, ...known } };
}

/** Whether a turn failed because the program does not have the conversation any more. */
function isGone(fact: Fact): boolean {
  return fact.payload_type === "turn_failed" && fact.payload.details?.["conversation_gone"] === true;
}

function keyOf(role_id: string, subject?: string): string {
  return subject === undefined ? role_id : `${role_id}/${subject}`;
}
