import type { Fact, FactOf, ReadonlyState, Step } from "../../kernel/mode.ts";
import { notPermitted, stepOf } from "../../kernel/step.ts";
import { permits } from "../../protocol/rights.ts";
import { onSessionBegun, onSessionFinished } from "./discussion.ts";
import { Draft } from "./draft.ts";
import { isForWorker } from "./messages.ts";
import { onApproval, onSessionRecovered, onSessionStopped, onUserCommand, onUserReview } from "./people.ts";
import { onRequirement, onSessionOpened, takePlan } from "./planning.ts";
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
    for (const id of draft.exhausted) stopExhausted(draft, id);
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
  plan: (draft, fact) => (fact.source === "user" ? onUserPlan(draft, fact) : onAnswer(draft, fact)),
  review: (draft, fact) => (fact.source === "user" ? onUserReview(draft, fact) : onAnswer(draft, fact)),
  report: (draft, fact) => {
    if (fact.payload.status !== "progress") onAnswer(draft, fact);
  },
};

function dispatch(draft: Draft, fact: Fact): void {
  // The table pairs each type with a handler of that type, which the compiler cannot follow through the lookup.
  const handle = (HANDLERS[fact.payload_type] ?? onAnswer) as (draft: Draft, fact: Fact) => void;
  handle(draft, fact);
}

/** Handles the end of a turn: removes the turn from its holder, then handles the answer. Refuses a fact that ends no open turn. */
function onAnswer(draft: Draft, fact: Fact): void {
  const id = fact.subject;
  const turn = draft.holder(id)?.turn;
  if (!turn || turn.turn_id !== fact.turn?.turn_id)
    return draft.out.forbid(`no turn is open for this "${fact.payload_type}"`, "see SPEC.md");
  draft.answered = turn;
  draft.patchHolder(id, { turn: undefined });
  if (id !== undefined) draft.remember(id);
  dispatchAnswer(draft, fact, turn, draft.ticket(id));
}

function dispatchAnswer(draft: Draft, fact: Fact, turn: OpenTurn, ticket: Ticket | undefined): void {
  if (fact.payload_type === "turn_failed") {
    onTurnFailed(draft, fact, turn);
    return;
  }
  if (!permits(SCHEDULE_RIGHTS, isForWorker(turn.message) ? "worker" : "manager", fact.payload_type, turn.message)) {
    refuseUnexpected(draft, fact, turn);
    return;
  }
  switch (fact.payload_type) {
    case "error":
      onError(draft, fact, ticket, turn);
      return;
    case "clarification":
      onClarification(draft, fact, turn);
      return;
    case "plan": {
      if (ticket && turn.message === "report") {
        refuseUnexpected(draft, fact, turn);
        return;
      }
      const wrong = takePlan(draft, fact.payload.tasks ?? [], "");
      if (wrong) refuseAnswer(draft, ticket?.id, wrong);
      return;
    }
    case "instruction":
      if (ticket) onInstruction(draft, fact, ticket);
      // The manager keeps waiting: its answer is kept in the history, and nothing else changes.
      else if (draft.session.long_wait) draft.remember(draft.session.long_wait.ticket);
      return;
    case "instruction_proposal":
      if (ticket) onInstructionProposal(draft, fact, ticket);
      return;
    case "report":
      if (ticket) onReport(draft, fact, ticket, turn.message);
      return;
    case "review":
      if (ticket && turn.message === "error" && !isReviewable(ticket)) refuseUnexpected(draft, fact, turn);
      else if (ticket) onReview(draft, fact, ticket);
      return;
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

function onUserPlan(draft: Draft, fact: FactOf<"plan">): void {
  const wrong = takePlan(draft, fact.payload.tasks ?? [], "");
  if (wrong) draft.out.refuse(wrong);
}

function onArtifact(draft: Draft, fact: FactOf<"artifact_ref">): void {
  const ticket = draft.ticket(fact.subject);
  if (ticket)
    draft.tickets.patch(ticket.id, { artifacts: { ...ticket.artifacts, [fact.payload.label]: fact.sequence } });
}
