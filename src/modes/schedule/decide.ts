import { endedTurn } from "../../kernel/kit/holder.ts";
import type { Fact, FactOf, ReadonlyState, Step } from "../../kernel/mode.ts";
import { notPermitted, stepOf } from "../../kernel/step.ts";
import { permits } from "../../protocol/rights.ts";
import { onSessionFinished } from "./child-ended.ts";
import { onSessionBegun } from "./discussion.ts";
import { Draft } from "./draft.ts";
import { isForWorker } from "./messages.ts";
import {
  onApproval,
  onSessionRecovered,
  onSessionStopped,
  onUserCommand,
  onUserReport,
  onUserReview,
} from "./people.ts";
import { plansLater } from "./planners.ts";
import { checkBase, onRequirement, onSessionOpened, takePlan } from "./planning.ts";
import { beginHeldBack } from "./offering.ts";
import { onClarification, onClarificationResponse } from "./questions.ts";
import { SCHEDULE_RIGHTS } from "./rights.ts";
import type { OpenTurn, ScheduleState, Ticket } from "./state.ts";
import { isReviewable, onCheckResult, onReview } from "./reviewing.ts";
import { onError, onTimerFired, onTurnFailed, refuseAnswer, stopExhausted } from "./trouble.ts";
import { onInstruction, onInstructionProposal, onReport, onTurnRequest } from "./work.ts";

/** Returns everything that follows from a fact. If the state does not accept it, the step is a refusal without changes. */
export function decide(state: ReadonlyState<ScheduleState>, fact: Fact): Step {
  return stepOf(() => {
    const draft = new Draft(state, fact);
    dispatch(draft, fact);
    beginHeldBack(draft);
    // A ticket that ends lets others begin, whose budget may be spent too. The loop also visits what is added meanwhile.
    for (const id of draft.exhausted) {
      stopExhausted(draft, id);
      beginHeldBack(draft);
    }
    if (draft.replanned && draft.session.phase !== "closed") checkBase(draft);
    return draft.step();
  });
}

type Handlers = { readonly [K in Fact["payload_type"]]?: (draft: Draft, fact: FactOf<K>) => void };

const HANDLERS: Handlers = {
  session_opened: onSessionOpened,
  requirement: onRequirement,
  turn_request: onTurnRequest,
  clarification_response: onClarificationResponse,
  approval: onApproval,
  user_command: onUserCommand,
  timer_fired: onTimerFired,
  check_result: onCheckResult,
  session_stopped: onSessionStopped,
  session_recovered: onSessionRecovered,
  session_reopened: (draft) => draft.moveSession("reopened"),
  session_begun: onSessionBegun,
  session_finished: onSessionFinished,
  artifact_ref: onArtifact,
  plan: (draft, fact) => (fact.source === "user" ? onPlan(draft, fact) : onAnswer(draft, fact)),
  review: (draft, fact) => (fact.source === "user" ? onUserReview(draft, fact) : onAnswer(draft, fact)),
  report: (draft, fact) => {
    if (fact.source === "user") onUserReport(draft, fact);
    else if (fact.payload.status !== "progress") onAnswer(draft, fact);
  },
};

function dispatch(draft: Draft, fact: Fact): void {
  // The table pairs each type with a handler of that type, which the compiler cannot follow through the lookup.
  const handle = (HANDLERS[fact.payload_type] ?? onAnswer) as (draft: Draft, fact: Fact) => void;
  handle(draft, fact);
}

/** Handles the end of a turn: removes the turn from its holder, then handles the answer. Refuses a fact that ends no open turn. */
function onAnswer(draft: Draft, fact: Fact): void {
  const turn = endedTurn(draft, fact);
  if (!turn) return draft.out.forbid(`no turn is open for this "${fact.payload_type}"`, "see SPEC.md");
  draft.answered = turn;
  if (fact.subject !== undefined) draft.remember(fact.subject);
  if (fact.payload_type === "turn_failed") return onTurnFailed(draft, fact, turn);
  const sender = isForWorker(turn.message) ? "worker" : "manager";
  if (!permits(SCHEDULE_RIGHTS, sender, fact.payload_type, turn.message)) return refuseUnexpected(draft, fact, turn);
  const ticket = draft.ticket(fact.subject);
  if (fact.payload_type === "error") onError(draft, fact, ticket, turn);
  else if (fact.payload_type === "clarification") onClarification(draft, fact, turn);
  else if (!ticket) onManagerAnswer(draft, fact, turn);
  else onTicketAnswer(draft, fact, ticket, turn);
}

/** The manager answers about the session. */
function onManagerAnswer(draft: Draft, fact: Fact, turn: OpenTurn): void {
  if (fact.payload_type === "plan" && plansLater(draft.session)) refuseUnexpected(draft, fact, turn);
  else if (fact.payload_type === "plan") onPlan(draft, fact);
  // It keeps waiting: its answer is kept in the history, and nothing else changes.
  else if (fact.payload_type === "instruction" && draft.session.long_wait)
    draft.remember(draft.session.long_wait.ticket);
}

function onTicketAnswer(draft: Draft, fact: Fact, ticket: Ticket, turn: OpenTurn): void {
  switch (fact.payload_type) {
    case "plan":
      return turn.message === "report" ? refuseUnexpected(draft, fact, turn) : onPlan(draft, fact);
    case "instruction":
      return onInstruction(draft, fact, ticket);
    case "instruction_proposal":
      return onInstructionProposal(draft, fact, ticket);
    case "report":
      return onReport(draft, fact, ticket, turn.message);
    case "review":
      if (turn.message === "error" && !isReviewable(ticket)) return refuseUnexpected(draft, fact, turn);
      return onReview(draft, fact, ticket);
    default:
      refuseUnexpected(draft, fact, turn);
  }
}

function refuseUnexpected(draft: Draft, fact: Fact, turn: OpenTurn): void {
  refuseAnswer(
    draft,
    fact.subject,
    notPermitted(`"${turn.message}" is not answered by "${fact.payload_type}"`, "send one of the types in expects"),
  );
}

/** A plan of the manager, or a person's own, which ends no turn. */
function onPlan(draft: Draft, fact: FactOf<"plan">): void {
  const wrong = takePlan(draft, fact.payload.tasks ?? [], "");
  if (wrong) refuseAnswer(draft, fact.subject, wrong);
}

function onArtifact(draft: Draft, fact: FactOf<"artifact_ref">): void {
  const ticket = draft.ticket(fact.subject);
  if (ticket)
    draft.tickets.patch(ticket.id, { artifacts: { ...ticket.artifacts, [fact.payload.label]: fact.sequence } });
}
