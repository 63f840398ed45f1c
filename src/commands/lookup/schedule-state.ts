import {
  artifactsOf,
  isAddition,
  type Place,
  type QuestionSet,
  type SessionValue,
  type Ticket,
} from "../../modes/schedule/state.ts";
import { commandLines } from "../../kernel/kit/commands.ts";
import { type Json, listOf, objectOf, textOf } from "../../lib/json.ts";
import { at } from "../../lib/json-pointer.ts";
import { commandsOf, unseen } from "../../modes/schedule/commands.ts";
import type { Task } from "../../protocol/payload.ts";
import { keptRecord } from "../../store/kept-record.ts";
import { recordAt } from "./state.ts";
import type { StoredSession, StoreReader } from "../../store/store.ts";
import { failedChecks, resultsOf } from "../../ui/failure-lines.ts";
import type { RevisedTasks } from "../../ui/plan.ts";

// Single values of a schedule's stored state. No other mode may use these collections, so other sessions have none of these values. A schedule's rows have
// had one version only: with a second, these must come from `stateOf` too.

export function sessionValue(reader: StoreReader, session_id: string): SessionValue | undefined {
  return reader.value(session_id, "session", "session") as unknown as SessionValue | undefined;
}

export function ticketValue(reader: StoreReader, session_id: string, ticket_id: string): Ticket | undefined {
  return reader.value(session_id, "ticket", ticket_id) as unknown as Ticket | undefined;
}

/** The place of a revised plan that needs approval, and what it would change. Done tickets stay. */
export function waitingRevision(
  reader: StoreReader,
  session_id: string,
): ({ readonly place: Place } & RevisedTasks) | undefined {
  const { gate, phase, interrupted = phase } = sessionValue(reader, session_id) ?? {};
  // A plan that was sent back needs no approval.
  if (!gate?.revision || interrupted !== "approving") return undefined;
  const { plan: place, planned, left_out } = gate.revision;
  const added: string[] = [];
  const changed: string[] = [];
  for (const { id, digest } of planned) {
    const ticket = ticketValue(reader, session_id, id);
    if (isAddition(ticket)) added.push(id);
    else if (ticket?.status !== "done" && ticket?.digest !== digest) changed.push(id);
  }
  const isOpen = (id: string) => !["done", "error", undefined].includes(ticketValue(reader, session_id, id)?.status);
  return { place, added, changed, left_out: left_out.filter(isOpen) };
}

/** The commands of these tasks that nobody has seen, as a person would type them. */
export function newCommands(reader: StoreReader, session_id: string, tasks: readonly Task[]): string[] {
  const session = sessionValue(reader, session_id);
  if (session === undefined) return [];
  const added = tasks.flatMap((task) => {
    return unseen(session, ticketValue(reader, session_id, task.task_id), commandsOf(task));
  });
  return [...new Set(commandLines(added))];
}

/** All question sets, answered or not. */
export function questionSets(stored: StoredSession): QuestionSet[] {
  return Array.from(stored.rows("question"), ({ value }) => value as unknown as QuestionSet);
}

/** What a person needs to judge work, besides its report: the task, its checks and its kept files. */
export function workLinesOf(reader: StoreReader, session_id: string, ticket_id: string): string[] {
  const ticket = ticketValue(reader, session_id, ticket_id);
  if (ticket === undefined) return [];
  const [record, pointer] = ticket.task;
  const task = textOf(at(keptRecord(reader, session_id, record).payload, `${pointer}/description`));
  const checks =
    ticket.check === undefined ? 0 : resultsOf(keptRecord(reader, session_id, ticket.check).payload).length;
  const files = artifactsOf(ticket).map((sequence) => textOf(keptRecord(reader, session_id, sequence).payload.uri));
  return [
    ...(task === "" ? [] : [`task: ${task}`]),
    ...(checks > 0 && ticket.checks_passed === true ? [`checks: ${checks} passed`] : []),
    ...files.map((file) => `file: ${file}`),
    `more: bosun log ${session_id} ${ticket_id}`,
  ];
}

/** The checks that fail on the commit from which the session starts. */
export function failsBefore(
  reader: StoreReader,
  session_id: string,
  { baseline, plan_baselines = [] }: SessionValue,
): string[] {
  const records = [...(baseline === undefined ? [] : [baseline]), ...plan_baselines];
  const results = records.flatMap((sequence) => listOf(recordAt(reader, session_id, sequence)?.payload.results));
  const isExpected = (result: Json) => objectOf(objectOf(result).criterion).was_red === true;
  const expected = failedChecks({ results: results.filter(isExpected) }).map((one) => `${one} (expected)`);
  return [...new Set([...failedChecks({ results: results.filter((one) => !isExpected(one)) }), ...expected])];
}
