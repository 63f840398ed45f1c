import { changesAfter } from "../../kernel/changes.ts";
import { applyToState } from "../../kernel/state.ts";
import { type Json, type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { type Telling, tellingOf, type ToldAsk, type ToldTurn } from "../../protocol/telling.ts";
import { progressOf } from "../../runtime/feed/standing.ts";
import { nextCause, reviewWords } from "../cause.ts";
import { failedChecks, resultsOf } from "../failure-lines.ts";
import { type Waiting, waitingIn } from "../waiting.ts";
import { wordsOf } from "../words.ts";
import { withRun, withSpent, withUsage } from "../../kernel/figures.ts";
import type { LedgerSpend } from "../../kernel/ledger.ts";
import type { Spent, Usage } from "../../protocol/payload.ts";
import { newTicket, noSpend, type SessionModel } from "./model.ts";

/**
 * Applies the session's next record to the model. Call with all records in order. It never throws: a damaged or forged log only leads to a
 * strange model.
 */
export function applyRecord(model: SessionModel, sequence: number, record: UnsealedRecord): void {
  const told = tellingOf(record);
  const { disposition, received_at, turn_id = "" } = record.record;
  const turn = model.turns.get(turn_id);
  const ended = told.ended.turns.flatMap((id) => model.turns.get(id) ?? []);
  model.sequence = sequence;
  model.at = received_at;
  applyToState(model, record, told, newTicket);
  if (disposition === "applied") applyToSession(model, record);
  for (const { subject, to, reason } of told.moves)
    model.subjects.get(subject)?.moves.push({ sequence, at: received_at, to, reason });
  if (disposition === "applied") applyToTicket(model, sequence, record);
  applyUsage(model, record, turn, ended);
  applyChanges(model, record);
  applyToAsks(model, sequence, record, told);
}

function applyToSession(model: SessionModel, { session_id, payload_type, payload, record }: UnsealedRecord): void {
  switch (payload_type) {
    case "session_opened":
      return open(model, session_id, payload, record.received_at);
    case "session_stopped":
      model.stopped = { reason: textOf(payload.reason), message: textOf(payload.message) };
      return;
    case "session_recovered":
      limits(model, objectOf(payload.limits));
      model.stopped = undefined;
      return;
    case "session_closed":
      model.closed = { outcome: textOf(payload.outcome), reason: wordsOf(payload.reason) || undefined };
      return;
    case "session_reopened":
      model.closed = undefined;
      model.stopped = undefined;
      return;
    case "session_finished":
      return addChild(model, { payload, record });
    case "user_command":
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
  for (const role of listOf(payload.roles).map(objectOf)) {
    const role_id = textOf(role.role_id);
    model.roles.set(role_id, { role_id, type: textOf(role.type), backend: textOf(role.backend), spend: noSpend() });
  }
}

function limits({ budget }: SessionModel, set: JsonObject): void {
  for (const limit of ["turns", "usd"] as const) {
    const value = numberOf(set[limit]);
    if (value !== undefined) budget[limit] = value;
  }
}

function applyToTicket(model: SessionModel, sequence: number, whole: UnsealedRecord): void {
  const { source, payload_type, payload, record } = whole;
  if (payload_type === "turn_failed") model.cause = nextCause(model.cause, whole);
  const ticket = model.subjects.get(record.ticket_id ?? "");
  if (!ticket) return;
  ticket.cause = nextCause(ticket.cause, whole);
  switch (payload_type) {
    case "turn_request":
      ticket.begun ??= record.received_at;
      ticket.progress = undefined;
      return;
    case "report":
      ticket.progress = progressOf(whole) ?? ticket.progress;
      return;
    case "check_result": {
      const failed = failedChecks(payload);
      ticket.checks = { sequence, passed: resultsOf(payload).length - failed.length, failed };
      return;
    }
    case "review": {
      const text = reviewWords(payload);
      const by = record.actor?.user ?? source;
      ticket.reviews.push({ sequence, decision: textOf(payload.decision), by, text });
      return;
    }
    case "artifact_ref": {
      const size_bytes = numberOf(payload.size_bytes);
      ticket.artifacts.push({ sequence, label: wordsOf(payload.label), uri: textOf(payload.uri), size_bytes });
      return;
    }
  }
}

/** Counts a turn that is given, and the usage of those that end. Runs that a record cuts short could not report theirs. */
function applyUsage(
  model: SessionModel,
  whole: UnsealedRecord,
  turn: ToldTurn | undefined,
  ended: readonly ToldTurn[],
): void {
  const { source, target, payload_type, payload, record } = whole;
  const { turn_id, ticket_id, usage, disposition } = record;
  const isRequest = payload_type === "turn_request";
  const reports = !isRequest && ended.some((one) => one.turn_id === turn_id);
  // The scheduler reports failures, and usage may come after the end of a run.
  const role_id = source === "scheduler" ? textOf(payload.role_id) || (turn?.role_id ?? source) : source;
  if (usage && !reports) addUsage(model, role_id, ticket_id, usage, false);
  for (const one of ended) {
    addUsage(model, one.role_id, one.subject, reports && one.turn_id === turn_id ? usage : undefined, true);
    const ticket = model.subjects.get(one.subject ?? "");
    if (ticket) ticket.progress = undefined;
  }
  if (isRequest && disposition === "applied") countTurn(model, target, ticket_id);
}

function applyChanges({ changes }: SessionModel, { record: { ticket_id, changed_files } }: UnsealedRecord): void {
  if (ticket_id === undefined || changed_files === undefined) return;
  for (const [id, changed] of changesAfter(changes, ticket_id, changed_files)) changes.set(id, changed);
}

/** Keeps what each open ask waits for. */
function applyToAsks(
  model: SessionModel,
  sequence: number,
  { payload, payload_type }: UnsealedRecord,
  told: Telling,
): void {
  for (const ask_id of told.ended.asks) model.waiting.delete(ask_id);
  for (const ask of told.asks) {
    const known = model.waiting.get(ask.ask_id);
    if (known !== undefined)
      model.waiting.set(
        ask.ask_id,
        known.filter((one) => isOpen(ask, one)),
      );
    // The report that a review is about came before.
    else if (ask.kind === "review")
      model.waiting.set(
        ask.ask_id,
        waitingIn(ask, {}, failedChecksOf(model, ask), model.changes.get(ask.subject ?? "")),
      );
    else if (ask.record === sequence) model.waiting.set(ask.ask_id, waitingIn(ask, payload));
  }
  // The scheduler's own questions follow the record that opens them.
  if (payload_type !== "clarification" && payload_type !== "approval_request") return;
  for (const ask of model.asks.values())
    if (ask.record === sequence) model.waiting.set(ask.ask_id, waitingIn(ask, payload));
}

function isOpen({ open }: ToldAsk, waiting: Waiting): boolean {
  return waiting.kind !== "question" || open.some((id) => waiting.question_id === `${waiting.ask_id}.${id}`);
}

function failedChecksOf({ subjects }: SessionModel, { subject = "" }: ToldAsk): readonly string[] {
  return subjects.get(subject)?.checks?.failed ?? [];
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function countTurn(model: SessionModel, role_id: string, ticket_id: string | undefined): void {
  spend(model, role_id, ticket_id, (before) => ({ ...before, turns: before.turns + 1 }));
}

/** Adds a turn's usage, reported at its end or later. With `isEnd`, what it does not report counts as unknown. */
function addUsage(
  model: SessionModel,
  role_id: string,
  ticket_id: string | undefined,
  usage: Usage | undefined,
  isEnd: boolean,
): void {
  spend(model, role_id, ticket_id, (before) => (isEnd ? withRun(before, usage) : withUsage(before, usage)));
}

/** Adds the usage of a child session to the session, its ticket and the roles that it names. */
function addChild(model: SessionModel, { payload, record }: Pick<UnsealedRecord, "payload" | "record">): void {
  const usage = objectOf(payload.usage);
  spend(model, undefined, record.ticket_id, (before) => withSpent(before, numbersIn(usage)));
  for (const one of listOf(usage.by_role).map(objectOf)) {
    const role = roleOf(model, textOf(one.role_id));
    role.spend = withSpent(role.spend, numbersIn(one));
  }
}

/** A forged record may have any values. */
function numbersIn(usage: JsonObject): Spent {
  const known = Object.entries(usage).filter(([, value]) => typeof value === "number" || value === null);
  return { turns: 0, cost_usd: 0, input_tokens: 0, output_tokens: 0, ...Object.fromEntries(known) };
}

/** Adds to what the session, a role and a ticket have used. */
function spend(
  model: SessionModel,
  role_id: string | undefined,
  ticket_id: string | undefined,
  more: (before: LedgerSpend) => LedgerSpend,
): void {
  const role = role_id === undefined ? undefined : roleOf(model, role_id);
  for (const one of [model, role, model.subjects.get(ticket_id ?? "")]) if (one) one.spend = more(one.spend);
}

/** A role that the session's opening does not list belongs to a child session. */
function roleOf({ roles }: SessionModel, role_id: string): { spend: LedgerSpend } {
  const known = roles.get(role_id) ?? { role_id, type: "", backend: "", spend: noSpend() };
  roles.set(role_id, known);
  return known;
}
