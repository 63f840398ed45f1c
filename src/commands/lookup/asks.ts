import type { Ledger, LedgerAsk } from "../../kernel/ledger.ts";
import { type Json, objectOf } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Question } from "../../protocol/payload.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { StoreReader } from "../../store/store.ts";
import { failedChecks } from "../../ui/failure-lines.ts";
import type { ChildWaiting, Waiting } from "../../ui/waiting.ts";
import { allWords, wordsOf } from "../../ui/words.ts";
import { questionSet, sessionValue, ticketValue } from "./schedule-state.ts";
import { valuesOf } from "./state.ts";

/** Everything a session needs a person for, from its stored state. */
export async function waitingOf(reader: StoreReader, session_id: string): Promise<Result<Waiting[], Failure>> {
  const needed = await neededOf(reader, session_id);
  return needed.ok ? ok([...needed.value.waiting]) : needed;
}

/** The same, with the roles that only a person can release. */
export async function neededOf(
  reader: StoreReader,
  session_id: string,
): Promise<Result<Omit<ChildWaiting, "session_id">, Failure>> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return stored;
  const waiting = valuesOf(stored.value, "ask").flatMap((ask) => waitingFor(reader, session_id, ask));
  return ok({ waiting, holds: valuesOf(stored.value, "hold").filter(({ until }) => until === undefined) });
}

/** The same from a ledger, of this process or from the store. */
export function openAsks(reader: StoreReader, session_id: string, { asks }: Ledger): Waiting[] {
  return [...asks.values()].flatMap((ask) => waitingFor(reader, session_id, ask));
}

/** What an ask still waits for: each of its open questions, or one decision. */
export function waitingFor(reader: StoreReader, session_id: string, ask: LedgerAsk): Waiting[] {
  const { ask_id, subject } = ask;
  switch (ask.kind) {
    case "questions":
      return openQuestions(reader, session_id, ask);
    case "approval":
      return [{ kind: "approval", ask_id, about: approvalSubject(reader, session_id) }];
    case "review":
      return [reviewOf(reader, session_id, ask, subject ?? "")];
    case "permission":
      return [permissionOf(reader, session_id, ask)];
  }
}

function reviewOf(reader: StoreReader, session_id: string, { ask_id, record }: LedgerAsk, ticket_id: string): Waiting {
  const { summary, outputs, issues } = keptRecord(reader, session_id, record).payload;
  const reported = { summary: wordsOf(summary), outputs: allWords(outputs), issues: allWords(issues) };
  return { kind: "review", ask_id, ticket_id, ...reported, ...failedOf(reader, session_id, ticket_id) };
}

function permissionOf(reader: StoreReader, session_id: string, { ask_id, record, subject }: LedgerAsk): Waiting {
  const { role_id, action, details, why } = objectOf(keptRecord(reader, session_id, record).payload.about);
  return {
    kind: "permission",
    ask_id,
    role_id: wordsOf(role_id),
    ticket_id: subject,
    action: wordsOf(action),
    details: details === undefined ? undefined : wordsOf(details),
    why: why === undefined ? undefined : wordsOf(why),
  };
}

/** The failed checks of work that needs a review. */
function failedOf(reader: StoreReader, session_id: string, ticket_id: string): { failed_checks?: string[] } {
  const ticket = ticketValue(reader, session_id, ticket_id);
  if (ticket?.check === undefined || ticket.checks_passed !== false) return {};
  return { failed_checks: failedChecks(keptRecord(reader, session_id, ticket.check).payload) };
}

function openQuestions(reader: StoreReader, session_id: string, { ask_id, record, subject }: LedgerAsk): Waiting[] {
  const set = questionSet(reader, session_id, ask_id);
  if (set?.closed === true) return [];
  const asked = (keptRecord(reader, session_id, record).payload.questions ?? []) as unknown as Question[];
  return asked
    .filter((_, index) => (set?.answers[index] ?? null) === null)
    .map((question) => ({
      kind: "question",
      ask_id,
      question_id: `${ask_id}.${question.question_id}`,
      text: question.text,
      options: (question.options ?? []).map((option) => wordsOf(option as Json)),
      why: question.why,
      default: question.default,
      free_text: question.free_text,
      ticket_id: subject,
    }));
}

function approvalSubject(reader: StoreReader, session_id: string): "plan" | "result" {
  return sessionValue(reader, session_id)?.gate?.subject ?? "plan";
}
