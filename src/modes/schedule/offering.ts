import type { Seat } from "../../kernel/mode.ts";
import { defined } from "../../lib/json.ts";
import { attemptsLeft } from "./attempts.ts";
import { BUDGET_TIMER, endOf, isExemptFromBudget, isSpent } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { isForWorker, PRIORITY } from "./messages.ts";
import { hasReviewers, REVIEW } from "./reviewers.ts";
import type { MessageType, OpenTurn, PutAgain, Ticket } from "./state.ts";
import { endWaiting } from "./waiting.ts";

/** The counts of earlier tries, if the message is sent again. */
type Tries = Partial<Omit<PutAgain, "message">>;

/**
 * Offers a turn with a message about a ticket, or about the session if `id` is absent. If the ticket's budget or its attempts are spent,
 * no turn is offered, and the ticket is added to `draft.exhausted`.
 */
export function offer(draft: Draft, id: string | undefined, message: MessageType, tries: Tries = {}): void {
  const spender = draft.ticket(id);
  if (spender && !isExemptFromBudget(message) && hasNothingLeft(draft, spender)) {
    draft.patchTicket(spender.id, { turn: undefined, waits_for: undefined, put_again: undefined });
    draft.exhausted.add(spender.id);
    return;
  }
  if (spender && message !== "error") spend(draft, spender);
  const turn_id = draft.nextTurn();
  const turn: OpenTurn = {
    turn_id,
    message,
    retries: tries.retries ?? 0,
    ...(tries.refused?.length ? { refused: tries.refused } : {}),
    ...(tries.rounds ? { rounds: tries.rounds } : {}),
  };
  const ticket = draft.ticket(id);
  draft.patchHolder(id, { turn, waits_for: undefined, put_again: undefined });
  draft.command({
    do: "offer_turn",
    turn_id,
    seat: seatFor(draft, ticket, message, tries),
    ...defined({ reserve: message === "ticket" ? ticket?.seat : undefined, subject: ticket?.id }),
    priority: PRIORITY[message],
    attempt: message === "instruction" ? (ticket?.attempt ?? 0) + 1 : Math.max(1, ticket?.attempt ?? 1),
  });
}

/** Whether a ticket's budget or its attempts are spent. */
function hasNothingLeft(draft: Draft, ticket: Ticket): boolean {
  return isSpent(ticket, draft.fact.received_at) || attemptsLeft(draft.session.settings, ticket) === 0;
}

function seatFor({ session }: Draft, ticket: Ticket | undefined, message: MessageType, tries: Tries): Seat {
  if (ticket && isForWorker(message)) return seatOf(ticket, tries);
  if (ticket && message === "review_request" && hasReviewers(session)) return reviewSeat(ticket);
  return { type: "manager" };
}

/** After a failure, another worker is preferred. After a refused answer, the same worker corrects it. */
function seatOf({ seat, owner }: Ticket, { retries = 0, refused }: Tries): Seat {
  return retries > 0 && !refused?.length && owner !== undefined ? { ...seat, rather_not: owner } : seat;
}

/** The seat of an independent reviewer, preferably one that runs another program than the worker. */
function reviewSeat({ owner }: Ticket): Seat {
  return { type: "participant", capability: REVIEW, ...defined({ unlike: owner }) };
}

/** Begins every ready ticket, after the plan has changed. When a single ticket is done, only its dependents begin. */
export function beginReady(draft: Draft): void {
  for (const ticket of draft.all()) {
    if (ticket.depends_on.every((dependency) => draft.ticket(dependency)?.status === "done")) begin(draft, ticket.id);
  }
}

/** Begins a ticket whose dependencies are done: the manager instructs it, unless the plan already did. */
export function begin(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  if (ticket?.status !== "pending" || ticket.gated || ticket.turn || ticket.waits_for) return;
  offer(draft, id, ticket.instruction ? "instruction" : "ticket");
}

function spend(draft: Draft, { id, allowance }: Ticket): void {
  if (!allowance) return;
  const spent = { ...allowance, used: allowance.used + 1, from: allowance.from ?? draft.fact.received_at };
  draft.patchTicket(id, { allowance: spent });
  const due_at = endOf(spent);
  if (due_at) draft.command({ do: "set_timer", timer_id: BUDGET_TIMER + id, due_at, passive: true });
}

/** Keeps a message until `waits_for` arrives, such as a timer or answers. */
export function putAgainLater(draft: Draft, id: string | undefined, waits_for: string, message: PutAgain): void {
  const { refused = [], ...rest } = message;
  const put_again = refused.length > 0 ? message : rest;
  draft.patchHolder(id, { waits_for, put_again, turn: undefined });
}

/** Sends the message that was kept for `waits_for`, if there is one. */
export function putAgain(draft: Draft, id: string | undefined, waits_for: string): void {
  const holder = draft.holder(id);
  if (holder?.put_again && holder.waits_for === waits_for) offer(draft, id, holder.put_again.message, holder.put_again);
}

/** Withdraws what a ticket or the session holds: its turn, what it waits for, its kept message. */
export function withdraw(draft: Draft, id: string | undefined, reason: string): void {
  const holder = draft.holder(id);
  if (!holder) return;
  if (holder.turn) draft.command({ do: "withdraw_turn", turn_id: holder.turn.turn_id, reason });
  if (holder.waits_for) for (const command of endWaiting(holder.waits_for, id, reason)) draft.command(command);
  const set = holder.waits_for === undefined ? undefined : draft.questions(holder.waits_for);
  if (set) draft.putQuestions({ ...set, closed: true });
  draft.patchHolder(id, { turn: undefined, waits_for: undefined, put_again: undefined });
}
