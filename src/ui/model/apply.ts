import { type Json, type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import type { RecordedEffect, UnsealedRecord } from "../../protocol/record.ts";
import { progressOf } from "../../runtime/feed/standing.ts";
import { failedChecks, resultsOf } from "../failure-lines.ts";
import { allWords, wordsOf } from "../words.ts";
import { applyToAsks, asksAfterMove, asksAfterTurn } from "./asks.ts";
import { noSpend, type SessionModel, type TicketModel, type TurnModel } from "./model.ts";
import { addChild, addUsage, countTurn } from "./spend.ts";

/**
 * Applies the session's next record to the model. Call with all records in order. It never throws: a damaged or forged log only leads to a
 * strange model.
 */
export function applyRecord(model: SessionModel, sequence: number, record: UnsealedRecord): void {
  model.sequence = sequence;
  model.at = record.record.received_at;
  const { disposition, effects = [] } = record.record;
  if (disposition === "applied") applyToSession(model, record);
  // A refused answer also ends its turn, and may move its ticket.
  for (const effect of effects) move(model, sequence, record, effect);
  if (disposition === "applied") applyToTicket(model, sequence, record);
  if (disposition === "late") lateUsage(model, record);
  else if (disposition === "applied" || record.source !== "scheduler") applyToTurns(model, record);
  if (disposition === "applied") applyToAsks(model, sequence, record);
}

function applyToSession(
  model: SessionModel,
  { session_id, source, payload_type, payload, record }: UnsealedRecord,
): void {
  switch (payload_type) {
    case "session_opened":
      return open(model, session_id, payload, record.received_at);
    case "plan":
      // A person's plan replaces the one requested from the manager.
      if (source === "user") endTurnsOf(model, undefined);
      return plan(model, payload, source === "user");
    case "approval":
      // A person may approve a plan with edits.
      if (payload.plan !== undefined) plan(model, objectOf(payload.plan), false);
      return;
    case "session_stopped":
      model.stopped = { reason: textOf(payload.reason), message: textOf(payload.message) };
      // Permissions stay open until the session is resumed.
      cutTurns(model, () => true);
      return;
    case "session_recovered":
      limits(model, objectOf(payload.limits));
      model.stopped = undefined;
      endAllTurns(model);
      return;
    case "session_closed":
      model.closed = { outcome: textOf(payload.outcome), reason: wordsOf(payload.reason) || undefined };
      endAllTurns(model);
      return;
    case "session_reopened":
      model.closed = undefined;
      model.stopped = undefined;
      model.paused = false;
      return;
    case "session_finished":
      return addChild(model, { payload, record } as UnsealedRecord);
    case "user_command":
      if (payload.command === "pause" || payload.command === "resume") model.paused = payload.command === "pause";
      if (payload.command === "limits") limits(model, objectOf(payload.limits));
  }
}

function open(model: SessionModel, session_id: string, payload: JsonObject, at: string): void {
  const config = objectOf(payload.config);
  model.session_id = session_id;
  model.mode = textOf(payload.mode);
  model.version = textOf(payload.version);
  model.requirement = textOf(payload.requirement);
  model.workspace = textOf(payload.workspace);
  model.opened_at = at;
  limits(model, objectOf(config.budget));
  model.budget.slots = numberOf(config.max_workers);
  model.memory.review = textOf(config.review) || model.memory.review;
  model.memory.max_attempts = numberOf(config.max_attempts);
  model.memory.has_checks = listOf(objectOf(config.checks).ticket).length > 0;
  for (const role of listOf(payload.roles).map(objectOf)) {
    const role_id = textOf(role.role_id);
    model.roles.set(role_id, { role_id, type: textOf(role.type), backend: textOf(role.backend), spend: noSpend() });
  }
}

function limits({ budget }: SessionModel, set: JsonObject): void {
  for (const limit of ["turns", "usd", "tokens", "wall_s"] as const) {
    const value = numberOf(set[limit]);
    if (value !== undefined) budget[limit] = value;
  }
}

/** Applies the tasks of a plan. A revised plan repeats its tasks; those that it leaves out end by their own transitions. */
function plan(model: SessionModel, { tasks }: JsonObject, isOfPerson: boolean): void {
  for (const [order, task] of listOf(tasks).map(objectOf).entries()) {
    const id = textOf(task.task_id);
    const ticket = ticketOf(model, id);
    ticket.order = order;
    if (ticket.status === "pending") {
      // The plan may have changed the task, which no record reports; the ticket then starts afresh.
      ticket.owner = undefined;
      if (isOfPerson) endTurnsOf(model, id);
    }
    ticket.title = textOf(task.description);
    ticket.depends_on = listOf(task.dependencies).map(textOf);
    ticket.review = textOf(task.review) || model.memory.review;
    ticket.max_attempts = numberOf(task.max_attempts) ?? model.memory.max_attempts;
    if (hasCommand(task) || hasCommand(objectOf(task.instruction))) model.memory.checked.add(id);
    else if (ticket.status === "pending") model.memory.checked.delete(id);
  }
}

/** Whether a task or an instruction has an acceptance criterion that runs a command. */
function hasCommand({ acceptance_criteria }: JsonObject): boolean {
  return listOf(acceptance_criteria)
    .map(objectOf)
    .some(({ command, shell }) => command !== undefined || shell !== undefined);
}

function move(
  model: SessionModel,
  sequence: number,
  record: UnsealedRecord,
  { ticket_id, to, reason }: RecordedEffect,
): void {
  const { received_at } = record.record;
  const ticket = ticketOf(model, ticket_id);
  count(model, ticket.status, -1);
  count(model, to, 1);
  ticket.status = to;
  ticket.reason = reason;
  ticket.since = received_at;
  // A ticket that is planned again starts without an owner; a retry keeps the owner.
  if (to === "pending" && record.payload_type !== "user_command") ticket.owner = undefined;
  ticket.moves.push({ sequence, at: received_at, to, reason });
  if (to !== "in_progress") ticket.progress = undefined;
  // A ticket has one turn at a time, and its transition ends any earlier one.
  endTurnsOf(model, ticket_id, record.record.turn_id);
  asksAfterMove(model, sequence, ticket, record);
}

function count({ counts }: SessionModel, status: string, by: number): void {
  if (status === "") return;
  const left = (counts.get(status) ?? 0) + by;
  if (left > 0) counts.set(status, left);
  else counts.delete(status);
}

/** Returns the ticket with this id, creating it if it is new. Its first transition sets its state. */
function ticketOf({ tickets, memory }: SessionModel, id: string): TicketModel {
  const known = tickets.get(id);
  if (known) return known;
  const ticket: TicketModel = {
    id,
    order: tickets.size,
    status: "",
    title: "",
    reason: undefined,
    owner: undefined,
    attempt: 0,
    max_attempts: memory.max_attempts,
    depends_on: [],
    since: "",
    begun: undefined,
    spend: noSpend(),
    progress: undefined,
    failure: undefined,
    checks: undefined,
    reviews: [],
    artifacts: [],
    moves: [],
    review: memory.review,
  };
  tickets.set(id, ticket);
  return ticket;
}

function applyToTicket(model: SessionModel, sequence: number, whole: UnsealedRecord): void {
  const { source, target, payload_type, payload, record } = whole;
  const ticket = model.tickets.get(record.ticket_id ?? "");
  if (!ticket) return;
  switch (payload_type) {
    case "turn_request":
      ticket.begun ??= record.received_at;
      give(ticket, target, textOf(objectOf(payload.message).payload_type), record.attempt);
      return;
    case "instruction":
      model.memory.was_checked = model.memory.checked.has(ticket.id);
      if (hasCommand(payload)) model.memory.checked.add(ticket.id);
      return;
    case "report":
      ticket.progress = progressOf(whole) ?? ticket.progress;
      if (payload.status === "completed") ticket.failure = undefined;
      if (payload.status === "error") ticket.failure = { code: "error", message: wordsOf(payload.summary) };
      return;
    case "turn_failed":
    case "error":
      // A scheduler's record without a turn is about somebody's message, such as a command that it refused.
      if (source === "scheduler" && record.turn_id === undefined) return;
      ticket.failure = { code: textOf(payload.code), message: textOf(payload.message) };
      return;
    case "check_result": {
      const failed = failedChecks(payload);
      ticket.checks = { sequence, passed: resultsOf(payload).length - failed.length, failed };
      return;
    }
    case "review": {
      const changes = allWords(payload.requested_changes);
      const text = changes.length > 0 ? changes.join("; ") : wordsOf(payload.notes);
      const by = record.actor?.user ?? source;
      ticket.reviews.push({ sequence, decision: textOf(payload.decision), by, text });
      return;
    }
    case "artifact_ref": {
      const size_bytes = numberOf(payload.size_bytes);
      ticket.artifacts.push({ sequence, label: wordsOf(payload.label), uri: textOf(payload.uri), size_bytes });
      return;
    }
    default:
      // In a mode without tasks, a subject's title is what it states.
      if (typeof payload.position === "string") ticket.title = payload.position;
  }
}

/** Sets the ticket's owner and attempt. A manager's turn about a ticket does not make the manager its owner. */
function give(ticket: TicketModel, role_id: string, message: string, attempt: number | undefined): void {
  if (message === "instruction" || message === "instruction_proposal" || role_id === ticket.id) ticket.owner = role_id;
  if (message === "instruction" && attempt !== undefined) ticket.attempt = attempt;
}

function applyToTurns(model: SessionModel, whole: UnsealedRecord): void {
  const { target, payload_type, record } = whole;
  const { turn_id, ticket_id, run = 1 } = record;
  if (turn_id === undefined) return;
  if (payload_type === "turn_request") {
    model.turns.set(turn_id, { turn_id, role_id: target, ticket_id, run, since: record.received_at });
    countTurn(model, target, ticket_id);
  } else if (endsTurn(whole)) {
    addUsage(model, roleOf(model, whole), ticket_id, record.usage, true);
    model.turns.delete(turn_id);
    asksAfterTurn(model, turn_id);
  }
}

/** Whether a record ends its turn: progress reports, artifacts and permission requests do not. */
function endsTurn({ payload_type, payload }: UnsealedRecord): boolean {
  if (payload_type === "approval_request" || payload_type === "artifact_ref") return false;
  return payload_type !== "report" || payload.status !== "progress";
}

/** Adds the usage of an interrupted run, which is reported late. */
function lateUsage(model: SessionModel, whole: UnsealedRecord): void {
  addUsage(model, roleOf(model, whole), whole.record.ticket_id, whole.record.usage, false);
}

/** The role whose turn a record belongs to. The scheduler reports failures. */
function roleOf({ turns }: SessionModel, { source, payload, record }: UnsealedRecord): string {
  if (source !== "scheduler") return source;
  return textOf(payload.role_id) || (turns.get(record.turn_id ?? "")?.role_id ?? source);
}

/** Ends the turns about a ticket, but not the one that a record is about: that one ends with its usage. */
function endTurnsOf(model: SessionModel, ticket_id: string | undefined, but?: string): void {
  const ended = cutTurns(model, (turn) => turn.ticket_id === ticket_id && turn.turn_id !== but);
  for (const { turn_id } of ended) asksAfterTurn(model, turn_id);
}

function endAllTurns(model: SessionModel): void {
  cutTurns(model, () => true);
  for (const { turn_id } of [...model.asks.values()]) if (turn_id !== undefined) asksAfterTurn(model, turn_id);
}

/** Ends turns that could not report their usage. */
function cutTurns(model: SessionModel, isMeant: (turn: TurnModel) => boolean): TurnModel[] {
  const ended = [...model.turns.values()].filter(isMeant);
  for (const { turn_id, role_id, ticket_id } of ended) {
    addUsage(model, role_id, ticket_id, undefined, true);
    model.turns.delete(turn_id);
  }
  return ended;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
