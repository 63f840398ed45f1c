import type { FactOf } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { defined, type Json } from "../../lib/json.ts";
import { baselineOf } from "../../protocol/criteria.ts";
import { failure } from "../../protocol/failure.ts";
import { attemptsLeft, isRepeated } from "./attempts.ts";
import { isSpent } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { finishIfOver } from "./finish.ts";
import { begin, offer } from "./offering.ts";
import { askPanel } from "./panel-review.ts";
import type { Ticket } from "./state.ts";
import { escalate, refuseAnswer, stopExhausted } from "./trouble.ts";
import { MERGE } from "./waiting.ts";

/** Whether the manager may review the delivered work of a blocked ticket instead of instructing it. */
export function isReviewable(ticket: Ticket): boolean {
  return ticket.delivered === true && (ticket.review === "manager" || ticket.review === "panel");
}

/** Moves a blocked ticket with delivered work back into review, with fresh rounds. */
function resumeReview(draft: Draft, id: string): Ticket {
  draft.move(id, "review_resumed");
  return draft.tickets.patch(id, { check_rounds: undefined, review_rounds: undefined });
}

/** Checks and reviews the delivered work of a blocked ticket again. */
export function restartReview(draft: Draft, id: string): void {
  resumeReview(draft, id);
  startReview(draft, id);
}

/** Checks delivered work, then asks for a review. */
export function startReview(draft: Draft, id: string): void {
  const { criteria = [], work } = draft.ticket(id) ?? {};
  if (criteria.length === 0) {
    draft.tickets.patch(id, { failed_as: undefined });
    askForReview(draft, id);
    return;
  }
  const check_id = `k${draft.fact.sequence}`;
  draft.tickets.patch(id, { waits_for: check_id, checks_passed: undefined, check: undefined });
  draft.out.command({
    do: "run_checks",
    check_id,
    subject: id,
    criteria: criteria.map(([sequence, pointer]) => from(sequence, pointer)),
    ...defined({ commit: work }),
  });
}

export function onCheckResult(draft: Draft, fact: FactOf<"check_result">): void {
  const base = baselineOf(fact.payload.check_id);
  if (base === "settings") return draft.patchSession({ baseline: fact.sequence });
  if (base === "plan")
    return draft.patchSession({ plan_baselines: [...(draft.session.plan_baselines ?? []), fact.sequence] });
  const ticket = draft.ticket(fact.subject);
  if (!ticket || ticket.waits_for !== fact.payload.check_id) return;
  const failed = fact.payload.results.filter((result) => !result.passed);
  const passed = failed.length === 0;
  draft.remember(ticket.id);
  if (ticket.waits_for.startsWith(MERGE)) return onMerge(draft, fact, ticket);
  const rounds = ticket.check_rounds ?? 0;
  draft.tickets.patch(ticket.id, {
    waits_for: undefined,
    check: fact.sequence,
    checks_passed: passed,
    failed_reviews: undefined,
    ...(passed ? { failed_as: undefined } : {}),
    softened: fact.payload.base_tests?.results.some((result) => !result.passed),
  });
  if (
    !passed &&
    (isRepeated(draft, ticket.id, "checks_failed", failed.map(evidenceOfCheck)) || isLastAttempt(draft, ticket))
  ) {
    draft.move(ticket.id, "work_stopped", "checks_failed");
    escalate(draft, ticket.id, "checks_failed");
    return;
  }
  // If the budget leaves no turn for a correction, the reviewer gets the evidence at once.
  if (!passed && rounds < draft.session.settings.check_rounds && !isSpent(ticket, fact.received_at)) {
    draft.tickets.patch(ticket.id, { check_rounds: rounds + 1 });
    draft.move(ticket.id, "changes_requested", "checks_failed");
    offer(draft, ticket.id, "instruction");
    return;
  }
  askForReview(draft, ticket.id);
}

/** The part of a failed check that is compared: all but its duration. */
function evidenceOfCheck(result: FactOf<"check_result">["payload"]["results"][number]): Json {
  const { duration_ms: _, ...compared } = result;
  return compared;
}

function isLastAttempt(draft: Draft, ticket: Ticket): boolean {
  return attemptsLeft(draft.session.settings, ticket) === 0;
}

function askForReview(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  if (!ticket) return;
  switch (ticket.review) {
    case "manager":
      offer(draft, id, "review_request");
      return;
    case "user": {
      const ask_id = `review:${id}`;
      draft.tickets.patch(id, { waits_for: ask_id });
      draft.out.command({
        do: "ask",
        ask_id,
        kind: "review",
        record: ticket.report ?? draft.fact.sequence,
        subject: id,
      });
      return;
    }
    case "panel": {
      const { panel } = draft.session.settings;
      if (panel && !isSpent(ticket, draft.fact.received_at)) return askPanel(draft, ticket, panel);
      offer(draft, id, "review_request");
      return;
    }
    case "checks":
      // Whether tests were mended or softened, somebody has to judge.
      if (ticket.checks_passed && ticket.softened) return offer(draft, id, "review_request");
      if (ticket.checks_passed) {
        draft.out.envelope({
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
 * Handles a review by the manager, a reviewer or a person, even of delivered work that was blocked. An approval never makes a ticket done if its
 * checks failed: it is refused once, and the second time counts as `changes_requested`.
 */
export function onReview(draft: Draft, fact: FactOf<"review">, ticket: Ticket): void {
  if (isAgainstEvidence(fact, ticket)) {
    refuseReview(draft, ticket);
    return;
  }
  onDecision(draft, fact.payload.decision, ticket);
}

/** Handles what was decided about delivered work. */
export function onDecision(draft: Draft, decision: FactOf<"review">["payload"]["decision"], ticket: Ticket): void {
  const { review_rounds } = ticket.status === "blocked" ? resumeReview(draft, ticket.id) : ticket;
  draft.tickets.patch(ticket.id, { reviews: (ticket.reviews ?? 0) + 1, failed_reviews: undefined });
  if (decision === "approved" && ticket.checks_passed !== false) {
    approve(draft, ticket.id);
    return;
  }
  const rounds = (review_rounds ?? 0) + 1;
  if (rounds > draft.session.settings.max_review_rounds || isLastAttempt(draft, ticket)) {
    draft.move(ticket.id, "work_stopped", "checks_failed");
    escalate(draft, ticket.id, "checks_failed");
    return;
  }
  draft.tickets.patch(ticket.id, { review_rounds: rounds, check_rounds: undefined });
  // The ticket is still in review, so it is blocked as delivered and can still be approved.
  if (isSpent(ticket, draft.fact.received_at)) {
    stopExhausted(draft, ticket.id);
    return;
  }
  draft.move(ticket.id, "changes_requested");
  offer(draft, ticket.id, "instruction");
}

/** Whether a review approves work that failed its checks, for the first time. */
export function isAgainstEvidence(fact: FactOf<"review">, ticket: Ticket): boolean {
  return fact.payload.decision === "approved" && ticket.checks_passed === false && !ticket.failed_reviews;
}

export function refuseReview(draft: Draft, ticket: Ticket): void {
  draft.tickets.patch(ticket.id, { failed_reviews: 1 });
  refuseAnswer(
    draft,
    ticket.id,
    failure("checks_failed", "an executable criterion failed, so the work cannot be approved", {
      hint: "request changes, naming what has to be mended",
      details: { pointer: "/decision" },
    }),
    true,
  );
}

/** Merges approved work first, if it is in a copy of the repository. */
function approve(draft: Draft, id: string): void {
  const { work, attempt = 0, report } = draft.ticket(id) ?? {};
  const { merge_checks } = draft.session.settings;
  if (merge_checks === undefined || work === undefined || report === undefined) return done(draft, id);
  const check_id = `${MERGE}${draft.fact.sequence}`;
  draft.tickets.patch(id, { waits_for: check_id, reason: "waiting_for_merge" });
  draft.out.command({
    do: "run_checks",
    check_id,
    subject: id,
    criteria: merge_checks.map(([sequence, pointer]) => from(sequence, pointer)),
    commit: work,
    merge: { attempt, at: draft.fact.received_at, summary: from(report, "/summary") },
  });
}

/** Work that is merged is done. Work in conflict with what others have done, or that fails together with it, is sent back. */
function onMerge(draft: Draft, { payload }: FactOf<"check_result">, ticket: Ticket): void {
  draft.tickets.patch(ticket.id, { waits_for: undefined });
  if (payload.merge?.state === "merged") return done(draft, ticket.id, "merged");
  const reason = payload.merge?.state === "conflict" ? "merge_conflict" : "merge_failed";
  if (isSpent(ticket, draft.fact.received_at)) return stopExhausted(draft, ticket.id);
  if (isLastAttempt(draft, ticket)) {
    draft.move(ticket.id, "work_stopped", reason);
    escalate(draft, ticket.id, reason);
    return;
  }
  draft.tickets.patch(ticket.id, { check_rounds: undefined });
  draft.move(ticket.id, "changes_requested", reason);
  offer(draft, ticket.id, "instruction");
}

function done(draft: Draft, id: string, reason?: string): void {
  draft.move(id, "approved", reason);
  for (const dependent of draft.inOrder(draft.before.dependents.get(id) ?? [])) {
    if (draft.before.unmet.get(dependent.id) === 1) begin(draft, dependent.id);
  }
  finishIfOver(draft);
}
