import type { Fact } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { failure } from "../../protocol/failure.ts";
import { isSpent, nothingLeft } from "./budget.ts";
import { executables } from "./criteria.ts";
import { discuss } from "./discussion.ts";
import type { Draft } from "./draft.ts";
import { finishIfOver } from "./finish.ts";
import type { MessageType, Ticket } from "./state.ts";
import { escalate, refuseAnswer, stopSpent, stopWork } from "./trouble.ts";

type Of<T extends Fact["payload_type"]> = Extract<Fact, { payload_type: T }>;

/** Begins every ticket that may be begun: used when the whole plan changed; a single completion looks at its dependents only. */
export function beginReady(draft: Draft): void {
  for (const ticket of draft.all()) {
    if (ticket.depends_on.every((dependency) => draft.ticket(dependency)?.status === "done")) begin(draft, ticket.id);
  }
}

/** A ticket whose dependencies are done is put to the manager, or straight to a worker when the plan gave its instruction. */
export function begin(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  if (ticket?.status !== "pending" || ticket.gated || ticket.turn || ticket.waits_for) return;
  draft.offer(id, ticket.instruction ? "instruction" : "ticket");
}

/** The dispatcher admitted a turn: the ticket is now really in somebody's hands. */
export function onTurnRequest(draft: Draft, fact: Of<"turn_request">): void {
  const ticket = draft.ticket(fact.subject);
  if (!ticket || ticket.turn?.turn_id !== fact.payload.turn_id) return;
  switch (ticket.turn.message) {
    case "ticket":
      if (ticket.discuss && ticket.status === "pending") draft.move(ticket.id, "proposal_needed");
      return;
    case "instruction":
      if (ticket.status === "pending") draft.move(ticket.id, "instruction_received");
      draft.patchTicket(ticket.id, { owner: fact.payload.role_id, attempt: fact.turn?.attempt ?? ticket.attempt });
      return;
    case "instruction_proposal":
      draft.patchTicket(ticket.id, { owner: fact.payload.role_id });
      return;
    case "requirement":
    case "clarification_response":
    case "report":
    case "review_request":
    case "error":
      return;
  }
}

/** The manager's formal instruction: the work begins, or begins anew. */
export function onInstruction(draft: Draft, fact: Of<"instruction">, ticket: Ticket): void {
  if (draft.answered?.message === "error" && isSpent(ticket, fact.received_at)) {
    refuseAnswer(draft, ticket.id, nothingLeft(ticket));
    return;
  }
  const added = executables(fact.payload.acceptance_criteria, fact.sequence, "/acceptance_criteria");
  draft.patchTicket(ticket.id, {
    instruction: [fact.sequence, ""],
    ...(added.length > 0 ? { criteria: [...(ticket.criteria ?? []), ...added] } : {}),
    retries: undefined,
    check_rounds: undefined,
    review_rounds: undefined,
    ...(draft.answered?.message === "error" ? { question_rounds: undefined } : {}),
  });
  if (ticket.status === "pending") draft.move(ticket.id, "instruction_received");
  else if (ticket.status === "discussing") draft.move(ticket.id, "instruction_finalized");
  else draft.move(ticket.id, "unblocked");
  draft.offer(ticket.id, "instruction");
}

/** The manager wants another view first: the worker's, or that of a session of its own. */
export function onInstructionProposal(draft: Draft, fact: Of<"instruction_proposal">, ticket: Ticket): void {
  if (ticket.status === "pending") draft.move(ticket.id, "proposal_needed");
  draft.patchTicket(ticket.id, { proposal: fact.sequence });
  const { discussion } = draft.session.settings;
  if (discussion) discuss(draft, ticket, discussion);
  else draft.offer(ticket.id, "instruction_proposal");
}

export function onReport(draft: Draft, fact: Of<"report">, ticket: Ticket, asked: MessageType): void {
  const { status, questions } = fact.payload;
  const fitting = [asked === "instruction_proposal" ? "proposal" : "completed", "blocked", "error"];
  if (!fitting.includes(status)) {
    const message = `"${asked}" is answered by a report that says ${fitting.join(", ")}, not "${status}"`;
    refuseAnswer(draft, ticket.id, failure("validation_failed", message, { details: { pointer: "/status" } }));
    return;
  }
  draft.patchTicket(ticket.id, { report: fact.sequence, discussed: undefined, failure: undefined });
  if (status === "blocked" && questions?.length && isOutOfQuestions(draft, ticket)) {
    draft.move(ticket.id, "work_stopped", "needs_input");
    escalate(draft, ticket.id, "needs_input");
  } else if (asked === "instruction_proposal") {
    if (status === "proposal" || (status === "blocked" && questions?.length)) draft.offer(ticket.id, "report");
    else refuseProposal(draft, ticket);
  } else if (status === "completed") {
    draft.move(ticket.id, "report_completed");
    judge(draft, ticket.id);
  } else if (status === "blocked") {
    draft.move(ticket.id, "report_blocked", "needs_input");
    if (questions?.length) draft.offer(ticket.id, "report");
    else escalate(draft, ticket.id, "needs_input");
  } else {
    stopWork(draft, ticket.id, "agent_failed");
  }
}

/** Counts one more round of a ticket's questions; true when its workers have asked often enough, and the manager must find another way. */
function isOutOfQuestions(draft: Draft, ticket: Ticket): boolean {
  const rounds = (ticket.question_rounds ?? 0) + 1;
  if (rounds > draft.session.settings.max_clarification_rounds) return true;
  draft.patchTicket(ticket.id, { question_rounds: rounds });
  return false;
}

function refuseProposal(draft: Draft, ticket: Ticket): void {
  draft.move(ticket.id, "work_stopped", "agent_failed");
  escalate(draft, ticket.id, "agent_failed");
}

/** Whether the manager, asked what to do with a blocked ticket, may say that its delivered work is good enough after all. */
export function isReviewable(ticket: Ticket): boolean {
  return ticket.delivered === true && ticket.review === "manager";
}

/** Delivered work that was blocked is under review again, with its rounds afresh. */
function resumeReview(draft: Draft, id: string): Ticket {
  draft.move(id, "review_resumed");
  return draft.patchTicket(id, { check_rounds: undefined, review_rounds: undefined });
}

/** Delivered work that was blocked is checked and reviewed again, by whoever reviews this ticket. */
export function judgeAgain(draft: Draft, id: string): void {
  resumeReview(draft, id);
  judge(draft, id);
}

/** Work has been delivered: evidence first, opinions afterwards. */
function judge(draft: Draft, id: string): void {
  const criteria = draft.ticket(id)?.criteria ?? [];
  if (criteria.length === 0) {
    toReview(draft, id);
    return;
  }
  const check_id = `k${draft.fact.sequence}`;
  draft.patchTicket(id, { waits_for: check_id, checks_passed: undefined, check: undefined });
  draft.command({
    do: "run_checks",
    check_id,
    subject: id,
    criteria: criteria.map(([sequence, pointer]) => from(sequence, pointer)),
  });
}

export function onCheckResult(draft: Draft, fact: Of<"check_result">): void {
  const ticket = draft.ticket(fact.subject);
  if (!ticket || ticket.waits_for !== fact.payload.check_id) return;
  const passed = fact.payload.results.every((result) => result.passed);
  draft.remember(ticket.id);
  const rounds = ticket.check_rounds ?? 0;
  draft.patchTicket(ticket.id, {
    waits_for: undefined,
    check: fact.sequence,
    checks_passed: passed,
    failed_reviews: undefined,
  });
  // Where nothing is left for the worker to mend it with, its reviewer has the evidence at once.
  if (!passed && rounds < draft.session.settings.check_rounds && !isSpent(ticket, fact.received_at)) {
    draft.patchTicket(ticket.id, { check_rounds: rounds + 1 });
    draft.move(ticket.id, "changes_requested", "checks_failed");
    draft.offer(ticket.id, "instruction");
    return;
  }
  toReview(draft, ticket.id);
}

function toReview(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  if (!ticket) return;
  switch (ticket.review) {
    case "manager":
      draft.offer(id, "review_request");
      return;
    case "user": {
      const ask_id = `review:${id}`;
      draft.patchTicket(id, { waits_for: ask_id });
      draft.command({ do: "ask", ask_id, kind: "review", record: ticket.report ?? draft.fact.sequence, subject: id });
      return;
    }
    case "checks":
      if (ticket.checks_passed) {
        draft.envelope({
          target: "user",
          payload_type: "review",
          subject: id,
          payload: { decision: "approved", notes: "every executable criterion passed" },
        });
        approve(draft, id);
        return;
      }
      draft.move(id, "work_stopped", "checks_failed");
      escalate(draft, id, "checks_failed");
      return;
  }
}

/**
 * A review, the manager's or the person's, also of work that was blocked while it was under review. Approval against failed
 * evidence never makes a ticket done: it is refused and put again once, and then counts as changes requested.
 */
export function onReview(draft: Draft, fact: Of<"review">, ticket: Ticket): void {
  if (isAgainstEvidence(fact, ticket)) {
    refuseReview(draft, ticket);
    return;
  }
  const { review_rounds } = ticket.status === "blocked" ? resumeReview(draft, ticket.id) : ticket;
  draft.patchTicket(ticket.id, { reviews: (ticket.reviews ?? 0) + 1, failed_reviews: undefined });
  if (fact.payload.decision === "approved" && ticket.checks_passed !== false) {
    approve(draft, ticket.id);
    return;
  }
  const rounds = (review_rounds ?? 0) + 1;
  if (rounds > draft.session.settings.max_review_rounds) {
    draft.move(ticket.id, "work_stopped", "checks_failed");
    escalate(draft, ticket.id, "checks_failed");
    return;
  }
  draft.patchTicket(ticket.id, { review_rounds: rounds, check_rounds: undefined });
  // Blocked as it was delivered, it can still be approved.
  if (isSpent(ticket, fact.received_at)) {
    stopSpent(draft, ticket.id);
    return;
  }
  draft.move(ticket.id, "changes_requested");
  draft.offer(ticket.id, "instruction");
}

/** Whether a review approves what failed its checks, for the first time. */
export function isAgainstEvidence(fact: Of<"review">, ticket: Ticket): boolean {
  return fact.payload.decision === "approved" && ticket.checks_passed === false && !ticket.failed_reviews;
}

export function refuseReview(draft: Draft, ticket: Ticket): void {
  draft.patchTicket(ticket.id, { failed_reviews: 1 });
  refuseAnswer(
    draft,
    ticket.id,
    failure("checks_failed", "an executable criterion failed, so the work cannot be approved", {
      hint: "request changes, naming what has to be mended",
      details: { pointer: "/decision" },
    }),
  );
}

function approve(draft: Draft, id: string): void {
  draft.move(id, "approved");
  for (const dependent of draft.inOrder(draft.before.dependents.get(id) ?? [])) {
    if (draft.before.unmet.get(dependent.id) === 1) begin(draft, dependent.id);
  }
  finishIfOver(draft);
}
