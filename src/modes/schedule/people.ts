import { RESUME, retryTimer, waitsForChecks } from "../../kernel/kit/holder.ts";
import { isStopped } from "../../kernel/kit/lifecycles.ts";
import { tell } from "../../kernel/kit/people.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { withFreshAttempts } from "./attempts.ts";
import { withFreshBudget } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { finish, finishIfAllOver, finishIfOver } from "./finish.ts";
import { begin, offer, putAgain, withdraw } from "./offering.ts";
import { armNotice } from "./notice.ts";
import { acceptPlan, closeGate, takePlan } from "./planning.ts";
import { asksAbout } from "./commands.ts";
import type { SessionEvent } from "./session.machine.ts";
import type { Ticket } from "./state.ts";
import { isAgainstEvidence, onReview, refuseReview, restartReview } from "./reviewing.ts";
import { escalate, retry } from "./trouble.ts";
import { onCommandsDecided, onReport } from "./work.ts";
import { canBeRetried, errorBefore, MERGE, REVISION } from "./waiting.ts";

/** Handles a person's decision to approve, send back or reject the plan or the result. */
export function onApproval(draft: Draft, fact: FactOf<"approval">): void {
  const { decision, notes, plan, ask_id, scope } = fact.payload;
  const { gate, phase } = draft.session;
  const tickets = ask_id === undefined ? [] : [...draft.before.tickets.values()];
  const instructed = tickets.find((ticket) => ticket.waits_for === ask_id && asksAbout(ticket) === ask_id);
  if (instructed) {
    onCommandsDecided(draft, fact, instructed);
    return;
  }
  // An approval only applies to what is open now, not to a plan that was sent back or replaced.
  if (!gate || phase !== "approving" || (ask_id !== undefined && ask_id !== gate.ask_id))
    return draft.out.forbid(
      ask_id === undefined ? "nothing waits for approval" : `"${ask_id}" does not wait for approval`,
      "see bosun status",
    );
  const isEdited = plan !== undefined && decision === "approved";
  const wrong = isEdited ? takePlan(draft, plan.tasks ?? [], "/plan") : undefined;
  if (wrong) return draft.out.refuse(wrong);
  if (!isEdited) closeGate(draft);
  if (notes !== undefined) draft.patchSession({ notes: [...draft.session.notes, fact.sequence] });
  if (decision === "approved" && gate.subject === "plan" && scope === "session") {
    draft.patchSession({ later_commands: "allowed" });
  }
  if (isEdited) return;
  switch (decision) {
    case "approved":
      if (gate.subject === "result") finish(draft);
      else acceptPlan(draft, gate.revision);
      return;
    case "changes_requested":
      // The gate stays: the next plan replaces a first plan as a whole, and the manager is shown the revision that it wrote.
      if (gate.subject === "plan") draft.patchSession({ gate });
      withdraw(draft, undefined, "the plan was sent back");
      draft.moveSession("plan_sent_back");
      offer(draft, undefined, "requirement");
      return;
    case "rejected":
      if (gate.subject === "result") finish(draft, "failed", "result_rejected");
      else if (gate.first) finish(draft, "cancelled", "plan_rejected");
      else dropRevision(draft);
      return;
  }
}

/** Drops a rejected revision, and escalates the tickets that waited for it to the manager again. */
function dropRevision(draft: Draft): void {
  draft.moveSession("plan_accepted");
  for (const { id, waits_for, reason = "agent_failed" } of draft.all()) {
    if (waits_for !== REVISION) continue;
    withdraw(draft, id, "the plan was rejected");
    draft.remember(id);
    escalate(draft, id, reason);
  }
  finishIfAllOver(draft);
}

/** Handles a person's review of delivered work, requested or in place of the manager's. */
export function onUserReview(draft: Draft, fact: FactOf<"review">): void {
  const ticket = draft.ticket(fact.payload.ticket_id);
  if (ticket?.status !== "awaiting_review" && !ticket?.delivered)
    return draft.out.forbid(`ticket "${fact.payload.ticket_id ?? ""}" does not wait for a review`, "see bosun status");
  if (waitsForChecks(ticket.waits_for))
    return draft.out.forbid(`the checks of ticket "${ticket.id}" are still running`, "review it when they have ended");
  // A refused review leaves the request for a review open.
  if (isAgainstEvidence(fact, ticket)) {
    refuseReview(draft, ticket);
    return;
  }
  withdraw(draft, ticket.id, "a person reviews");
  draft.remember(ticket.id);
  // A person's request for changes is carried out, however many attempts there were.
  onReview(draft, fact, draft.tickets.patch(ticket.id, withFreshAttempts(ticket)));
}

/** The event that brings a ticket from each status to `in_progress`. */
const TO_WORK = {
  pending: "instruction_received",
  discussing: "instruction_finalized",
  in_progress: undefined,
  blocked: "unblocked",
  awaiting_review: "changes_requested",
} as const;

/** Handles the work on a ticket that a person did in place of its worker: it is checked and reviewed like a worker's. */
export function onUserReport(draft: Draft, fact: FactOf<"report">): void {
  const ticket = draft.ticket(fact.subject);
  if (!ticket?.instruction || fact.work === undefined || fact.payload.status !== "completed")
    return draft.out.forbid(
      "a person reports only the completed work on a ticket that has begun",
      "bosun give <ticket>",
    );
  const { id, depends_on, waits_for = "" } = ticket;
  const isReady = depends_on.every((dependency) => draft.ticket(dependency)?.status === "done");
  if (ticket.status === "done" || !isReady || draft.session.gate?.first || waits_for.startsWith(MERGE))
    return draft.out.forbid(`ticket "${id}" is not being worked on`, "see bosun status");
  withdraw(draft, id, "a person handed in the work");
  if (ticket.status === "error") bringBack(draft, ticket);
  else freshLimits(draft, ticket);
  const event = TO_WORK[ticket.status === "error" ? "pending" : ticket.status];
  if (event !== undefined) draft.move(id, event);
  draft.remember(id);
  onReport(draft, fact, draft.tickets.needed(id), "instruction");
}

export function onUserCommand(draft: Draft, fact: FactOf<"user_command">): void {
  const { command, ticket_id, text } = fact.payload;
  const ticket = draft.ticket(ticket_id);
  if (ticket_id !== undefined && !ticket)
    return draft.out.forbid(`there is no ticket "${ticket_id}"`, "see bosun status for the tickets");
  switch (command) {
    case "tell":
      return tell(draft, ticket_id, text, fact.sequence);
    case "cancel":
      if (!ticket) {
        finish(draft, "cancelled", "cancelled");
      } else if (ticket.status === "done" || ticket.status === "error") {
        draft.out.forbid(`ticket "${ticket.id}" has ended already (${ticket.status})`, "see bosun status");
      } else {
        withdraw(draft, ticket.id, "cancelled");
        draft.move(ticket.id, "withdrawn", "cancelled");
        finishIfOver(draft);
      }
      return;
    case "retry":
      if (ticket) retryTicket(draft, ticket.id);
      else draft.out.forbid("retry needs a ticket", "bosun retry <ticket>");
      return;
    case "pause":
    case "resume":
    case "limits":
    case "release":
    case "stop":
      return;
  }
}

function retryTicket(draft: Draft, id: string): void {
  const ticket = draft.ticket(id);
  const cause = ticket && errorBefore((one) => draft.ticket(one), draft.before, ticket);
  if (draft.session.gate?.first) {
    draft.out.forbid("the plan has not been approved, so nothing of it can be tried again", "bosun plan --approve");
  } else if (!ticket || !canBeRetried(ticket)) {
    draft.out.forbid(
      `ticket "${id}" is ${ticket?.status ?? "unknown"}; only one in error, waiting for a retry, out of budget, or blocked with delivered work can be tried again`,
      "see bosun status",
    );
  } else if (ticket.status === "error" && cause !== undefined) {
    draft.out.forbid(`ticket "${id}" waits for "${cause}", which cannot be done`, `bosun retry ${cause}`);
  } else if (ticket.status === "error") {
    bringBack(draft, ticket);
    if (ticket.depends_on.every((dependency) => draft.ticket(dependency)?.status === "done")) begin(draft, id);
  } else if (ticket.delivered) {
    withdraw(draft, id, "a person had its review resumed");
    draft.remember(id);
    freshLimits(draft, ticket);
    restartReview(draft, id);
  } else if (ticket.status === "blocked" && ticket.reason === "budget_exhausted") {
    withdraw(draft, id, "a person gave it a fresh budget");
    draft.remember(id);
    freshLimits(draft, ticket);
    draft.move(id, ticket.instruction ? "retry" : "replanned");
    if (ticket.instruction) offer(draft, id, "instruction");
    else begin(draft, id);
  } else {
    freshLimits(draft, ticket);
    draft.out.command({ do: "clear_timer", timer_id: retryTimer(id) });
    retry(draft, id, retryTimer(id));
  }
}

/** Makes a ticket in error pending, as if it had never been tried. */
function bringBack(draft: Draft, ticket: Ticket): void {
  draft.move(ticket.id, "manual_reset");
  draft.tickets.patch(ticket.id, {
    retries: undefined,
    escalations: undefined,
    check_rounds: undefined,
    review_rounds: undefined,
    question_rounds: undefined,
    ...withFreshBudget(ticket),
    ...withFreshAttempts(ticket),
  });
  if (draft.session.gate?.subject === "result") {
    closeGate(draft);
    draft.moveSession("plan_accepted");
  }
  armNotice(draft);
}

/** Resets a ticket's attempts and budget, for a person's retry. */
function freshLimits(draft: Draft, ticket: Ticket): void {
  draft.tickets.patch(ticket.id, { ...withFreshAttempts(ticket), ...withFreshBudget(ticket) });
  if (ticket.allowance) draft.stopTime(ticket);
}

/** The runtime has stopped the session without closing it. */
export function onSessionStopped(draft: Draft, { payload: { reason } }: FactOf<"session_stopped">): void {
  if (reason === "no_progress") {
    // A session that was reopened without effect is closed as before.
    if (!finishIfAllOver(draft)) finish(draft, "failed", "no_progress");
    return;
  }
  const { phase } = draft.session;
  if (!isStopped(phase)) draft.patchSession({ interrupted: phase });
  draft.moveSession(reason === "waiting" ? "left_waiting" : "stopped");
}

/** Resumes the session in the phase that it left, and sends the messages that waited for this. */
export function onSessionRecovered(draft: Draft): void {
  const { phase, interrupted = "running" } = draft.session;
  if (isStopped(phase)) {
    draft.moveSession(`resumed_${interrupted}` as SessionEvent);
    draft.patchSession({ interrupted: undefined });
  }
  putAgain(draft, undefined, RESUME);
  const waiting = [...draft.before.tickets.values()].filter((ticket) => ticket.waits_for === RESUME);
  for (const { id } of draft.inOrder(waiting.map(({ id }) => id))) putAgain(draft, id, RESUME);
  finishIfOver(draft);
}
