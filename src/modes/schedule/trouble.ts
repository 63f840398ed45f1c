import { retriedBy, retryLater, sessionWaitedFor } from "../../kernel/kit/holder.ts";
import { stopFor } from "../../kernel/kit/trouble.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { backoff } from "../../kernel/step.ts";
import type { Json } from "../../lib/json.ts";
import { type Failure, NOT_RETRIED } from "../../protocol/failure.ts";
import { refusalFrom } from "../../protocol/refusal.ts";
import { attemptsLeft, evidenceOf, isRepeated, maxAttempts } from "./attempts.ts";
import { BUDGET_TIMER, isExemptFromBudget, isSpent } from "./budget.ts";
import { onDiscussionTimeUp } from "./discussion.ts";
import type { Draft } from "./draft.ts";
import { finish, finishIfOver } from "./finish.ts";
import { isAboutLongWait, isForWorker, reasonOfError } from "./messages.ts";
import { notice, NOTICE_TIMER } from "./notice.ts";
import { offer, putAgain, withdraw } from "./offering.ts";
import type { OpenTurn, PutAgain, Ticket } from "./state.ts";
import { DISCUSSION_TIMER } from "./waiting.ts";

/**
 * Refuses an answer, and sends the same message again with the reason, which counts as a retry. When the retries are spent, a worker's ticket
 * escalates to the manager, and a manager's failure stops the session. With `once`, the message is sent again even if no retry is left: for an answer
 * that is refused the first time and accepted the second.
 */
export function refuseAnswer(draft: Draft, id: string | undefined, why: Failure, once = false): void {
  const turn = draft.answered;
  draft.out.refuse(why);
  if (!turn || !draft.holder(id) || isAboutLongWait(id, turn)) return;
  const refused = [{ ...refusalFrom(draft.fact.payload_type, why) }];
  const retries = once ? Math.min(turn.retries, draft.session.settings.max_retries - 1) : turn.retries;
  if (id !== undefined && isForWorker(turn.message) && isRepeated(draft, id, why.code, refused[0] ?? null))
    retriesSpent(draft, id, { ...turn, refused }, why.code);
  else tryAgain(draft, id, { ...turn, retries, refused }, 0, why.code);
}

/** Handles a turn that ended without an accepted answer. */
export function onTurnFailed(draft: Draft, fact: FactOf<"turn_failed">, turn: OpenTurn): void {
  const id = fact.subject;
  const { code, refused = [] } = fact.payload;
  if (isAboutLongWait(id, turn)) return;
  if (id !== undefined && isForWorker(turn.message)) workerFailed(draft, fact, id, { ...turn, refused }, code);
  else afterBackoff(draft, id, { ...turn, refused }, code, NOT_RETRIED.has(code));
}

/** Handles a worker's failed turn or `error`: tries again, unless another try would fail the same way. */
function workerFailed(
  draft: Draft,
  fact: FactOf<"turn_failed"> | FactOf<"error">,
  id: string,
  turn: PutAgain,
  code: string,
): void {
  draft.tickets.patch(id, { failure: fact.sequence });
  const repeated = isRepeated(draft, id, code, evidenceOf(fact));
  if (turn.message === "instruction") stopWork(draft, id, code, repeated, turn.refused);
  else afterBackoff(draft, id, turn, code, repeated || NOT_RETRIED.has(code));
}

/** Sends the message of a failed turn again after a back-off, unless that is `useless`. */
function afterBackoff(draft: Draft, id: string | undefined, turn: PutAgain, code: string, useless: boolean): void {
  if (useless) retriesSpent(draft, id, turn, code);
  else tryAgain(draft, id, turn, backoff(draft.session.settings.retry_backoff_ms, turn.retries), code);
}

/** Sends the same message again, at once or after a delay, until the retries are spent. */
export function tryAgain(draft: Draft, id: string | undefined, turn: PutAgain, delay_ms: number, code: string): void {
  // The ticket counts the retries of an instruction: refused reports and failed work together.
  const instructed = turn.message === "instruction" ? draft.ticket(id) : undefined;
  const retries = (instructed ? (instructed.retries ?? 0) : turn.retries) + 1;
  const { max_retries } = draft.session.settings;
  const isLast = instructed && attemptsLeft(draft.session.settings, instructed) === 0;
  if (isLast || retries > max_retries) return retriesSpent(draft, id, turn, code);
  if (instructed) draft.tickets.patch(instructed.id, { retries });
  const next = { ...turn, retries, rounds: turn.rounds ?? 0 };
  if (delay_ms === 0) offer(draft, id, next.message, next);
  else retryLater(draft, id, next, delay_ms);
}

/** Handles spent retries: a worker's ticket escalates to the manager; a manager's failure stops the session. */
function retriesSpent(draft: Draft, id: string | undefined, turn: PutAgain, code: string): void {
  const { message, rounds = 0 } = turn;
  if (id !== undefined && isForWorker(message)) {
    const ticket = draft.ticket(id);
    if (ticket && ticket.status !== "blocked") draft.move(id, "work_stopped", code);
    return escalate(draft, id, code);
  }
  const about = id === undefined ? "the requirement" : `ticket ${id}`;
  stopFor(draft, id, { ...turn, rounds }, code, "the manager", ` on ${message} (${about})`);
}

/** Handles a failed attempt: retries after a back-off, or escalates to the manager. A failure that is `repeated` is not tried again. */
export function stopWork(
  draft: Draft,
  id: string,
  reason: string,
  repeated: boolean,
  refused: readonly Json[] = [],
): void {
  const ticket = draft.move(id, "work_stopped", reason);
  const { settings } = draft.session;
  if (isSpent(ticket, draft.fact.received_at)) return escalate(draft, id, "budget_exhausted");
  const { retries: before = 0 } = ticket;
  const retries = before + 1;
  const isLast = attemptsLeft(settings, ticket) === 0;
  if (isLast || repeated || retries > settings.max_retries || NOT_RETRIED.has(reason))
    return escalate(draft, id, reason);
  draft.tickets.patch(id, { retries });
  const instruction = { message: "instruction", retries, rounds: 0, refused } as const;
  retryLater(draft, id, instruction, backoff(settings.retry_backoff_ms, before));
}

/** Asks the manager what to do with a blocked ticket. After `max_attempts` or `max_escalations` the ticket is given up. */
export function escalate(draft: Draft, id: string, reason: string): void {
  const ticket = draft.ticket(id);
  // The manager could only ask for another attempt.
  if (ticket && attemptsLeft(draft.session.settings, ticket) === 0) {
    attemptsSpent(draft, ticket, reason);
    return;
  }
  const escalations = (ticket?.escalations ?? 0) + 1;
  if (escalations > draft.session.settings.max_escalations) {
    giveUp(draft, id, reason);
    return;
  }
  draft.tickets.patch(id, { escalations, reason });
  offer(draft, id, "error");
}

/** Blocks a ticket whose budget or attempts are spent, and asks the manager what to do. */
export function stopExhausted(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  if (!ticket || ticket.status === "done" || ticket.status === "error") return;
  const reason = isSpent(ticket, draft.fact.received_at) ? "budget_exhausted" : (ticket.reason ?? "agent_failed");
  if (ticket.status !== "blocked") draft.move(id, "work_stopped", reason);
  escalate(draft, id, reason);
}

/** Gives up a ticket whose attempts are spent, and tells a person how to grant more. */
function attemptsSpent(draft: Draft, ticket: Ticket, reason: string): void {
  const { id } = ticket;
  const most = maxAttempts(draft.session.settings, ticket);
  draft.tickets.patch(id, { spent: "max_attempts" });
  draft.out.envelope({
    target: "user",
    payload_type: "error",
    subject: id,
    payload: {
      code: reason,
      message: `ticket ${id} is given up: ${most === 1 ? "its only attempt is" : `all ${most} attempts are`} spent (max_attempts)`,
      resolution_hint: `bosun retry ${id}`,
    },
  });
  giveUp(draft, id, reason);
}

/** Handles the end of a ticket's time budget. A ticket without a turn is stopped later, when its next turn is offered. */
function onTimeUp(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  if (!ticket || !isSpent(ticket, draft.fact.received_at)) return;
  const discussed = sessionWaitedFor(ticket.waits_for) !== undefined;
  if (discussed && ticket.session_begun) return onDiscussionTimeUp(draft, id);
  if (!discussed && (!ticket.turn || isExemptFromBudget(ticket.turn.message))) return;
  withdraw(draft, id, "the ticket's budget is spent");
  stopExhausted(draft, id);
}

function giveUp(draft: Draft, id: string, reason: string): void {
  draft.move(id, "retries_exceeded", reason);
  finishIfOver(draft);
}

/** Handles an agent's `error`. From a worker it is a failed attempt; from the manager it ends the ticket, or the session. */
export function onError(draft: Draft, fact: FactOf<"error">, ticket: Ticket | undefined, turn: OpenTurn): void {
  const code = reasonOfError(fact.payload.code);
  if (!ticket) {
    if (!isAboutLongWait(fact.subject, turn)) finish(draft, "failed", code);
    return;
  }
  if (isForWorker(turn.message)) {
    workerFailed(draft, fact, ticket.id, { ...turn, refused: [] }, code);
  } else {
    if (ticket.status !== "blocked") draft.move(ticket.id, "work_stopped", code);
    giveUp(draft, ticket.id, turn.message === "error" ? (ticket.reason ?? code) : code);
  }
}

export function onTimerFired(draft: Draft, { payload: { timer_id } }: FactOf<"timer_fired">): void {
  const retried = retriedBy(timer_id);
  if (retried !== null) retry(draft, retried, timer_id);
  else if (timer_id === NOTICE_TIMER) notice(draft);
  else if (timer_id.startsWith(DISCUSSION_TIMER)) onDiscussionTimeUp(draft, timer_id.slice(DISCUSSION_TIMER.length));
  else if (timer_id.startsWith(BUDGET_TIMER)) onTimeUp(draft, timer_id.slice(BUDGET_TIMER.length));
}

/** Sends the message that waits for `waits_for`. A blocked ticket moves back to work first. */
export function retry(draft: Draft, id: string | undefined, waits_for: string): void {
  const ticket = draft.ticket(id);
  const isAgain = ticket?.waits_for === waits_for && ticket.put_again?.message === "instruction";
  if (isAgain && ticket.status === "blocked") draft.move(ticket.id, "retry");
  putAgain(draft, id, waits_for);
}
