import { offerTurn, sessionWaitedFor, type Tries, withdraw as withdrawHeld } from "../../kernel/kit/holder.ts";
import type { Seat } from "../../kernel/mode.ts";
import { defined } from "../../lib/json.ts";
import { attemptsLeft } from "./attempts.ts";
import { BUDGET_TIMER, endOf, isExemptFromBudget, isSpent } from "./budget.ts";
import { overlap } from "../../protocol/write-scopes.ts";
import type { Draft } from "./draft.ts";
import { isForWorker, PRIORITY } from "./messages.ts";
import { hasReviewers, REVIEW } from "./reviewers.ts";
import type { MessageType, Ticket } from "./state.ts";
import { DISCUSSION_TIMER, REVISION } from "./waiting.ts";

/**
 * Offers a turn with a message about a ticket, or about the session if `id` is absent. If the ticket's budget or its attempts are spent,
 * no turn is offered, and the ticket is added to `draft.exhausted`.
 */
export function offer(draft: Draft, id: string | undefined, message: MessageType, tries: Tries = { retries: 0 }): void {
  const spender = draft.ticket(id);
  if (spender && !isExemptFromBudget(message) && hasNothingLeft(draft, spender)) {
    draft.tickets.patch(spender.id, { turn: undefined, waits_for: undefined, put_again: undefined });
    draft.exhausted.add(spender.id);
    return;
  }
  if (spender && message !== "error") spend(draft, spender);
  const { seat, attempt = 0 } = spender ?? {};
  // A turn without rounds of questions stores none.
  const turn = { ...tries, message, rounds: tries.rounds || undefined };
  offerTurn(draft, id, turn, {
    seat: seatFor(draft, spender, message, tries),
    ...defined({ reserve: message === "ticket" ? seat : undefined, subject: id }),
    priority: PRIORITY[message],
    attempt: message === "instruction" ? attempt + 1 : Math.max(1, attempt),
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
function seatOf({ seat, owner }: Ticket, { retries, refused }: Tries): Seat {
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

/** Whether another ticket is being worked on that may change the same files. */
function isHeldBack(draft: Draft, { id, writes }: Ticket): boolean {
  return draft.tickets.all().some((other) => {
    const isOver = other.status === "done" || other.status === "error";
    const isBegun = other.status !== "pending" || other.turn !== undefined || other.waits_for !== undefined;
    return other.id !== id && !isOver && isBegun && overlap(writes, other.writes);
  });
}

/** Begins the tickets that waited for others which may change the same files, if the step ended a ticket. */
export function beginHeldBack(draft: Draft): void {
  if (draft.closed.size === 0) return;
  for (const { id, depends_on } of draft.inOrder(draft.before.scoped))
    if (depends_on.every((dependency) => draft.ticket(dependency)?.status === "done")) begin(draft, id);
}

/** Begins a ticket whose dependencies are done: the manager instructs it, unless the plan already did. */
export function begin(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  if (ticket?.status !== "pending" || ticket.gated || ticket.turn || ticket.waits_for) return;
  if (ticket.writes && isHeldBack(draft, ticket)) return;
  offer(draft, id, ticket.instruction ? "instruction" : "ticket");
}

function spend(draft: Draft, { id, allowance }: Ticket): void {
  if (!allowance) return;
  const spent = { ...allowance, used: allowance.used + 1, from: allowance.from ?? draft.fact.received_at };
  draft.tickets.patch(id, { allowance: spent });
  const due_at = endOf(spent);
  if (due_at) draft.out.command({ do: "set_timer", timer_id: BUDGET_TIMER + id, due_at, passive: true });
}

/** Sends the message that was kept for `waits_for`, if there is one. */
export function putAgain(draft: Draft, id: string | undefined, waits_for: string): void {
  const holder = draft.holder(id);
  if (holder?.put_again && holder.waits_for === waits_for) offer(draft, id, holder.put_again.message, holder.put_again);
}

/** Withdraws what a ticket or the session holds: its turn, or what it waits for. */
export function withdraw(draft: Draft, id: string | undefined, reason: string): void {
  const { waits_for = "" } = draft.holder(id) ?? {};
  if (waits_for === REVISION) return draft.patchHolder(id, { waits_for: undefined });
  withdrawHeld(draft, id, reason);
  if (sessionWaitedFor(waits_for) !== undefined)
    draft.out.command({ do: "clear_timer", timer_id: DISCUSSION_TIMER + (id ?? "") });
  const set = draft.questions.get(waits_for);
  if (set) draft.questions.put(set.id, { ...set, closed: true });
}
