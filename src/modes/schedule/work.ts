import { putAgainLater } from "../../kernel/kit/holder.ts";
import type { FactOf } from "../../kernel/mode.ts";
import type { Json } from "../../lib/json.ts";
import { failure } from "../../protocol/failure.ts";
import { refusalFrom } from "../../protocol/refusal.ts";
import { isRepeated } from "./attempts.ts";
import { budgetSpent, isSpent } from "./budget.ts";
import { announce, commandsIn, digestsOf, unseen } from "./commands.ts";
import { discuss } from "./discussion.ts";
import type { Draft } from "./draft.ts";
import { offer } from "./offering.ts";
import { startReview } from "./reviewing.ts";
import type { Instructed, MessageType, Ticket } from "./state.ts";
import { executables } from "./tasks.ts";
import { escalate, refuseAnswer, stopWork, tryAgain } from "./trouble.ts";

/** The dispatcher has admitted a turn, so an agent now works on it. */
export function onTurnRequest(draft: Draft, fact: FactOf<"turn_request">): void {
  const ticket = draft.ticket(fact.subject);
  if (!ticket || ticket.turn?.turn_id !== fact.payload.turn_id) return;
  switch (ticket.turn.message) {
    case "ticket":
      if (ticket.discuss && ticket.status === "pending") draft.move(ticket.id, "proposal_needed");
      return;
    case "instruction":
      if (ticket.status === "pending") draft.move(ticket.id, "instruction_received");
      draft.tickets.patch(ticket.id, { owner: fact.payload.role_id, attempt: fact.turn?.attempt ?? ticket.attempt });
      return;
    case "instruction_proposal":
      draft.tickets.patch(ticket.id, { owner: fact.payload.role_id });
      return;
    case "requirement":
    case "clarification_response":
    case "report":
    case "review_request":
    case "error":
      return;
  }
}

/** The manager instructs a ticket. If it adds commands that a person has not seen, the ticket waits until they are allowed. */
export function onInstruction(draft: Draft, fact: FactOf<"instruction">, ticket: Ticket): void {
  if (draft.answered?.message === "error" && isSpent(ticket, fact.received_at)) {
    refuseAnswer(draft, ticket.id, budgetSpent(ticket));
    return;
  }
  const { acceptance_criteria } = fact.payload;
  const { message = "ticket", retries = 0, rounds = 0 } = draft.answered ?? {};
  const added = unseen(draft.session, ticket, commandsIn(acceptance_criteria));
  const instructed: Instructed = {
    record: fact.sequence,
    criteria: executables(acceptance_criteria, fact.sequence, "/acceptance_criteria"),
    commands: digestsOf(added),
  };
  const ask_id = added.length === 0 ? undefined : announce(draft, ticket.id, added);
  if (ask_id === undefined) {
    instruct(draft, ticket, instructed, message);
  } else {
    draft.tickets.patch(ticket.id, { instructed });
    putAgainLater(draft, ticket.id, ask_id, { message, retries, rounds });
  }
}

/** A person has allowed the commands that an instruction adds, or not: then the manager has to instruct without them. */
export function onCommandsDecided(draft: Draft, { payload }: FactOf<"approval">, ticket: Ticket): void {
  const { instructed, put_again, waits_for: ask_id = "" } = ticket;
  if (!instructed || !put_again) return;
  draft.out.command({ do: "clear_ask", ask_id });
  draft.tickets.patch(ticket.id, { instructed: undefined, waits_for: undefined, put_again: undefined });
  if (payload.decision === "approved") {
    const { seen = [] } = draft.session;
    if (payload.scope === "session") draft.patchSession({ seen: [...new Set([...seen, ...instructed.commands])] });
    instruct(draft, ticket, instructed, put_again.message);
    return;
  }
  const said = payload.notes ? `: ${payload.notes}` : "";
  const why = failure("not_permitted", `a person does not allow the commands that this instruction adds${said}`, {
    hint: "instruct without them",
    details: { pointer: "/acceptance_criteria" },
  });
  tryAgain(draft, ticket.id, { ...put_again, refused: [{ ...refusalFrom("instruction", why) }] }, 0, why.code);
}

/** Work begins, or begins again, in answer to `asked`. */
function instruct(draft: Draft, ticket: Ticket, { record, criteria, commands }: Instructed, asked: MessageType): void {
  draft.tickets.patch(ticket.id, {
    instruction: [record, ""],
    ...(criteria.length > 0 ? { criteria: [...(ticket.criteria ?? []), ...criteria] } : {}),
    ...(commands.length > 0 ? { seen: [...(ticket.seen ?? []), ...commands] } : {}),
    retries: undefined,
    check_rounds: undefined,
    review_rounds: undefined,
    ...(asked === "error" ? { question_rounds: undefined } : {}),
  });
  if (ticket.status === "pending") draft.move(ticket.id, "instruction_received");
  else if (ticket.status === "discussing") draft.move(ticket.id, "instruction_finalized");
  else draft.move(ticket.id, "unblocked");
  offer(draft, ticket.id, "instruction");
}

/** The manager proposes an instruction: the worker answers it, or a child session discusses it. */
export function onInstructionProposal(draft: Draft, fact: FactOf<"instruction_proposal">, ticket: Ticket): void {
  if (ticket.status === "pending") draft.move(ticket.id, "proposal_needed");
  draft.tickets.patch(ticket.id, { proposal: fact.sequence });
  const { discussion } = draft.session.settings;
  if (discussion) discuss(draft, ticket, discussion);
  else offer(draft, ticket.id, "instruction_proposal");
}

export function onReport(draft: Draft, fact: FactOf<"report">, ticket: Ticket, asked: MessageType): void {
  const { status, questions } = fact.payload;
  const expected = [asked === "instruction_proposal" ? "proposal" : "completed", "blocked", "error"];
  if (!expected.includes(status)) {
    const message = `"${asked}" is answered by a report that says ${expected.join(", ")}, not "${status}"`;
    refuseAnswer(draft, ticket.id, failure("validation_failed", message, { details: { pointer: "/status" } }));
    return;
  }
  keepNotes(draft, fact, ticket);
  const captured = fact.work === undefined ? {} : { work: fact.work.commit };
  draft.tickets.patch(ticket.id, { report: fact.sequence, discussed: undefined, failure: undefined, ...captured });
  if (status === "blocked" && questions?.length && isOutOfQuestions(draft, ticket)) {
    draft.move(ticket.id, "work_stopped", "needs_input");
    escalate(draft, ticket.id, "needs_input");
  } else if (asked === "instruction_proposal") {
    if (status === "proposal" || (status === "blocked" && questions?.length)) offer(draft, ticket.id, "report");
    else refuseProposal(draft, ticket);
  } else if (status === "completed") {
    draft.move(ticket.id, "report_completed");
    startReview(draft, ticket.id);
  } else if (status === "blocked") {
    draft.move(ticket.id, "report_blocked", "needs_input");
    if (questions?.length) offer(draft, ticket.id, "report");
    else escalate(draft, ticket.id, "needs_input");
  } else {
    const { summary = "", evidence = [], issues = [] } = fact.payload;
    const said = { summary, evidence, issues } as unknown as Json;
    stopWork(draft, ticket.id, "agent_failed", isRepeated(draft, ticket.id, "agent_failed", said));
  }
}

/** The most notes that later turns are told. */
const MOST_NOTES = 20;

function keepNotes(draft: Draft, { payload: { notes = [] }, sequence }: FactOf<"report">, { id }: Ticket): void {
  if (notes.length === 0) return;
  const added = notes.map((_, at) => ({ ticket_id: id, at: [sequence, `/notes/${at}`] as const }));
  draft.patchSession({ crew_notes: [...(draft.session.crew_notes ?? []), ...added].slice(-MOST_NOTES) });
}

/** Counts a round of questions from the ticket's workers. Returns true if there were too many, so that the ticket escalates. */
function isOutOfQuestions(draft: Draft, ticket: Ticket): boolean {
  const rounds = (ticket.question_rounds ?? 0) + 1;
  if (rounds > draft.session.settings.max_clarification_rounds) return true;
  draft.tickets.patch(ticket.id, { question_rounds: rounds });
  return false;
}

function refuseProposal(draft: Draft, ticket: Ticket): void {
  draft.move(ticket.id, "work_stopped", "agent_failed");
  escalate(draft, ticket.id, "agent_failed");
}
