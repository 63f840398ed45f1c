import { type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { allWords, wordsOf } from "../words.ts";
import type { AskModel, SessionModel, TicketModel } from "./model.ts";

/** Opens and settles asks. They have no records of their own: they follow from questions, answers and ticket transitions. */
export function applyToAsks(model: SessionModel, sequence: number, record: UnsealedRecord): void {
  const { payload, payload_type } = record;
  switch (payload_type) {
    case "plan":
      return settleBeforePlan(model, record);
    case "clarification":
      return openQuestions(model, sequence, record);
    case "clarification_response":
      return settleQuestions(model, payload);
    case "approval_request":
      return openApproval(model, sequence, record);
    case "approval": {
      const ask_id = textOf(payload.ask_id);
      const held = model.memory.held.get(ask_id);
      if (held !== undefined && payload.decision === "approved") model.memory.checked.add(held);
      return settleApproval(model, ask_id);
    }
    case "review":
      model.asks.delete(reviewId(record.record.ticket_id ?? textOf(payload.ticket_id)));
      return;
    case "check_result":
      return openReview(model, sequence, model.tickets.get(record.record.ticket_id ?? ""), record);
    case "session_recovered":
      model.memory.doubts = listOf(payload.asked).map(textOf);
      return;
    case "session_closed":
      return model.asks.clear();
  }
}

/** Call after each transition of a ticket: it settles earlier asks about the ticket. */
export function asksAfterMove(
  model: SessionModel,
  sequence: number,
  ticket: TicketModel,
  record: UnsealedRecord,
): void {
  for (const [id, ask] of model.asks) if (ask.ticket_id === ticket.id) model.asks.delete(id);
  // After a retry the result is no longer complete.
  if (ticket.status === "pending" && record.payload_type === "user_command") model.asks.delete(model.memory.result);
  const isChecked = model.memory.has_checks || model.memory.checked.has(ticket.id);
  if (!isChecked) openReview(model, sequence, ticket, record);
}

/** Call for each turn that ends: its permission requests are no longer open. */
export function asksAfterTurn(model: SessionModel, turn_id: string): void {
  for (const [id, ask] of model.asks) if (ask.turn_id === turn_id) model.asks.delete(id);
}

function openQuestions(model: SessionModel, sequence: number, { source, payload, record }: UnsealedRecord): void {
  const questions = listOf(payload.questions).map(objectOf);
  if (questions.length === 0) return;
  const { memory } = model;
  let ask_id: string;
  if (source === "scheduler") {
    const [doubt = "", ...more] = memory.doubts;
    memory.doubts = more;
    ask_id = doubt;
  } else {
    memory.asked += 1;
    ask_id = `c${memory.asked}`;
  }
  const open = questions.map(({ question_id }) => textOf(question_id));
  const text = allWords(payload.questions).join(" / ");
  put(model, { ask_id, kind: "questions", ...stamp(sequence, record), ticket_id: record.ticket_id, text, open });
}

function settleQuestions(model: SessionModel, { answers, status, ask_id }: JsonObject): void {
  const answered = new Set(listOf(answers).map((answer) => textOf(objectOf(answer).question_id)));
  for (const ask of [...model.asks.values()]) {
    if (ask.kind !== "questions" || (ask_id !== undefined && ask_id !== ask.ask_id)) continue;
    const open = ask.open.filter((id) => !answered.has(id) && !answered.has(`${ask.ask_id}.${id}`));
    // A question about an in-doubt turn has the turn's id, and only its own answer settles it.
    const isMeant = open.length < ask.open.length || (answered.size === 0 && ask.ask_id.startsWith("c"));
    if (open.length === 0 || (status === "complete" && isMeant)) model.asks.delete(ask.ask_id);
    else if (open.length < ask.open.length) put(model, { ...ask, open });
  }
}

function openApproval(model: SessionModel, sequence: number, { payload, record }: UnsealedRecord): void {
  const ask_id = textOf(payload.ask_id);
  const about = objectOf(payload.about);
  const known = { ask_id, ...stamp(sequence, record), ticket_id: record.ticket_id, open: [] };
  if (payload.subject === "permission") {
    const text = `${wordsOf(about.role_id)} wants to ${wordsOf(about.action)}`;
    // The commands of the instruction before it do not count until they are allowed.
    const held = record.turn_id === undefined && !model.memory.was_checked ? record.ticket_id : undefined;
    if (held !== undefined) {
      model.memory.checked.delete(held);
      model.memory.held.set(ask_id, held);
    }
    put(model, { ...known, kind: "permission", turn_id: record.turn_id, text });
    return;
  }
  model.memory.asked += 1;
  // Only one approval of a plan or result is open at a time.
  settleApproval(model, "");
  if (payload.subject === "result") {
    // No questions about the session are left, and no work for its manager.
    for (const [id, ask] of model.asks) if (ask.ticket_id === undefined) model.asks.delete(id);
    for (const [id, turn] of model.turns) if (turn.ticket_id === undefined) model.turns.delete(id);
    model.memory.result = ask_id;
  }
  const text = payload.subject === "result" ? "The result needs your approval." : "The plan needs your approval.";
  put(model, { ...known, kind: "approval", text });
}

function settleApproval(model: SessionModel, ask_id: string): void {
  if (ask_id !== "") model.asks.delete(ask_id);
  else for (const [id, { kind }] of model.asks) if (kind === "approval") model.asks.delete(id);
}

/**
 * An open approval is about an earlier plan. A plan from a person answers the questions about the requirement, and about tickets that the plan
 * may change.
 */
function settleBeforePlan({ asks, tickets }: SessionModel, { source }: UnsealedRecord): void {
  for (const [id, { kind, ticket_id }] of asks) {
    const isBefore = ticket_id === undefined || tickets.get(ticket_id)?.status === "pending";
    if (kind === "approval" || (source === "user" && kind === "questions" && isBefore)) asks.delete(id);
  }
}

function openReview(
  model: SessionModel,
  sequence: number,
  ticket: TicketModel | undefined,
  { record }: UnsealedRecord,
): void {
  if (ticket?.status !== "awaiting_review" || ticket.review !== "user") return;
  const text = `The work on ${ticket.id} needs your review.`;
  const ask_id = reviewId(ticket.id);
  put(model, { ask_id, kind: "review", ...stamp(sequence, record), ticket_id: ticket.id, text, open: [] });
}

function reviewId(ticket_id: string): string {
  return `review:${ticket_id}`;
}

function stamp(
  sequence: number,
  { received_at }: UnsealedRecord["record"],
): Pick<AskModel, "record" | "since" | "turn_id"> {
  return { record: sequence, since: received_at, turn_id: undefined };
}

function put(model: SessionModel, ask: AskModel): void {
  model.asks.set(ask.ask_id, ask);
}
