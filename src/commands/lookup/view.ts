import { openTurns } from "../../kernel/deltas.ts";
import type { Engine } from "../../kernel/engine.ts";
import type { Ledger, LedgerAsk, LedgerHold } from "../../kernel/ledger.ts";
import type { ModeReader, Results } from "../../kernel/mode.ts";
import { isLost, type Presentation, shownStatus } from "../../kernel/presentation.ts";
import { from, resolve } from "../../kernel/references.ts";
import { reasonReader, type SessionState, standingState } from "../../kernel/state.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { ChangedFiles, LogRecord } from "../../protocol/record.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { SessionRecords } from "../../runtime/records.ts";
import { valuesOf } from "../../runtime/stored-state.ts";
import { keptRecord, measuredRecord } from "../../store/kept-record.ts";
import { StorageError } from "../../store/storage-error.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { type Cause, CAUSES, nextCause } from "../../ui/cause.ts";
import { mergingWords } from "../../ui/merging.ts";
import { failedChecks } from "../../ui/failure-lines.ts";
import type { TicketLine } from "../../ui/reporter.ts";
import { type Ask, type Waiting, waitingIn } from "../../ui/waiting.ts";
import { allWords, wordsOf } from "../../ui/words.ts";
import { keptFor, type Needed } from "./kept.ts";
import { engineOf } from "./modes.ts";
import { ticketValue } from "./schedule-state.ts";
import { recordAt } from "./state.ts";

/** What a session shows, from what its engine holds. */
export interface SessionView {
  readonly presentation: Presentation;
  readonly state: SessionState;
  readonly ledger: Ledger;
  readonly tickets: readonly TicketLine[];
  /** Why the role failed that the session stopped for. */
  readonly cause: Cause | undefined;
  /** The final report, if the session is closed. */
  readonly report: JsonObject | undefined;
  readonly waiting: readonly Waiting[];
}

/** Of more failed subjects, the causes are not read. */
const MAX_CAUSES = 40;

/** A stored session, all read at one moment. */
export interface StoredView extends SessionView {
  readonly row: SessionRow;
  readonly waiting: readonly Needed[];
  /** The results of a ticket so far, as in the final report. Read on demand, because there may be very many. */
  readonly resultsOf: (ticket_id: string) => JsonObject;
  /** The session in its mode's own words, if the mode has some. */
  readonly projection: Json | undefined;
}

/** The state of a session's engine, with the rules or the reader of its mode. */
type ReadEngine = Pick<Engine<unknown>, "state" | "ledger"> & { readonly mode: ModeReader<unknown> };

/** Reads a session; `environment` for a mode that this version does not have. */
export async function readSession(reader: StoreReader, home: string, found: SessionRow): Promise<Fallible<StoredView>> {
  return reader.snapshot(async () => {
    const loaded = await engineOf(reader, found);
    if (!loaded.ok) return loaded;
    const { row, ...engine } = loaded.value;
    const { session_id } = row;
    const records = new SessionRecords(
      (sequence) => measuredRecord(reader, session_id, sequence),
      sessionPaths(home, session_id).folder,
    );
    const resolved = (reference: Json) => resolve(reference, records) ?? "";
    const view = viewOf(reader, session_id, engine, row.last_sequence, resolved);
    const reported = reportedTickets(view.report);
    const resultsOf = (id: string) => reported.get(id) ?? resultsIn(records, engine.mode.results?.(engine.state, id));
    const waiting = view.waiting.map((one) => ({ ...one, kept: keptFor(reader, session_id, one) }));
    const projected = engine.mode.projection?.(engine.state);
    const projection = projected && resolve(projected, records);
    return ok({ ...view, waiting, row, resultsOf, projection });
  });
}

/** The view of a session whose last record is `last_sequence`. `resolved` resolves references into its records. */
export function viewOf(
  reader: StoreReader,
  session_id: string,
  engine: ReadEngine,
  last_sequence: number,
  resolved: (reference: Json) => Json,
): SessionView {
  const { mode, ledger } = engine;
  const { presentation } = mode;
  const state = standingState(engine, (title) => wordsOf(resolved(title)));
  const report = finalReport(reader, session_id, last_sequence);
  const resultsOf = (id: string) => mode.results?.(engine.state, id);
  let looked = 0;
  const causeOf = (id: string) => {
    looked += 1;
    return looked > MAX_CAUSES ? undefined : causeIn(reader, session_id, CAUSES, id);
  };
  const lines = ticketLines({ state, presentation, report, resultsOf, causeOf, resolved });
  const tickets = lines.map((line) => ({ ...line, ...defined({ changed_files: ledger.changes.get(line.ticket_id) }) }));
  const isFailed = ledger.figures.stopped?.reason === "manager_failed";
  const cause = isFailed ? causeIn(reader, session_id, ["turn_failed"]) : undefined;
  const waiting = [...state.asks.values()].flatMap((ask) => waitingFor(reader, session_id, ask));
  return { presentation, state, ledger, tickets, cause, report, waiting };
}

function resultsIn(records: SessionRecords, results: Results | undefined): JsonObject {
  if (results === undefined) return {};
  const { latest, kept, figures } = results;
  const { summary, issues, next_actions } = latest === undefined ? {} : records.record(latest).payload;
  return { ...figures, summary, issues, next_actions, artifacts: kept.map((record) => records.record(record).payload) };
}

/** Marks the tickets whose turn or checks were cut off when the session's scheduler left. */
export function markInterrupted(tickets: readonly TicketLine[], ledger: Ledger): TicketLine[] {
  const cut = new Set([...openTurns(ledger), ...ledger.checks.values()].map(({ subject }) => subject));
  return tickets.map((ticket) => (cut.has(ticket.ticket_id) ? { ...ticket, interrupted: true } : ticket));
}

/** The recorded final report of a closed session; undefined if it is not closed. */
export function finalReport(reader: StoreReader, session_id: string, last_sequence: number): JsonObject | undefined {
  // The report is the record before the closing one, in the same commit.
  const record = recordAt(reader, session_id, last_sequence - 1);
  return record?.payload_type === "final_report" ? record.payload : undefined;
}

function reportedTickets(report: JsonObject | undefined): ReadonlyMap<string, JsonObject> {
  return new Map(((report?.tickets ?? []) as JsonObject[]).map((ticket) => [wordsOf(ticket.ticket_id), ticket]));
}

/** What ticket lines are made from: the state, and what only records and the mode's rows know. */
interface TicketSources extends Pick<SessionView, "state" | "presentation" | "report"> {
  readonly resultsOf: (id: string) => Results | undefined;
  readonly causeOf: (id: string) => Cause | undefined;
  readonly resolved: (reference: Json) => Json;
}

/** The tickets for tables. Only a report says what blocks a ticket in the end. */
export function ticketLines({
  state,
  presentation,
  report,
  resultsOf,
  causeOf,
  resolved,
}: TicketSources): TicketLine[] {
  const reported = reportedTickets(report);
  const reasonOf = reasonReader(state, presentation);
  const isDone = (id: string) => shownStatus(presentation, state.subjects.get(id)?.status ?? "").stage === "done";
  return [...state.subjects.values()].map((subject) => {
    const { id, status, title, attempt, owner, spent, depends_on } = subject;
    const fromReport = reported.get(id);
    const reason = reasonOf(subject);
    const isHeldUp = reason !== undefined && reason === shownStatus(presentation, status).held_up;
    const [waits_for] = isHeldUp ? depends_on.filter((before) => !isDone(before)) : [];
    const [blocked_by] = [fromReport?.blocked_by].flat();
    const latest = resultsOf(id)?.latest;
    const merging = mergingWords(state, subject, () => causeOf(id));
    const told = (field: string) =>
      fromReport || latest === undefined ? fromReport?.[field] : resolved({ ...from(latest, `/${field}`) });
    return {
      ticket_id: id,
      status,
      title,
      attempt,
      outputs: allWords(told("outputs")),
      summary: wordsOf(told("summary")) || undefined,
      reason,
      owner,
      spent,
      cause: isLost(presentation, status) ? causeOf(id) : undefined,
      blocked_by: typeof blocked_by === "string" ? blocked_by : undefined,
      waits_for,
      merging,
      dependencies: depends_on,
    };
  });
}

/** Why a turn or a subject failed last, from the newest records about it. */
function causeIn(
  reader: StoreReader,
  session_id: string,
  types: readonly string[],
  subject?: string,
): Cause | undefined {
  const lines = reader.newest(session_id, types, subject).toReversed();
  return lines.reduce<Cause | undefined>((cause, line) => nextCause(cause, JSON.parse(line) as LogRecord), undefined);
}

/** Everything a session needs a person for, and the roles that only a person can release. Throws a `StorageError`. */
export async function neededOf(
  reader: StoreReader,
  session_id: string,
): Promise<{ readonly waiting: readonly Needed[]; readonly holds: readonly LedgerHold[] }> {
  const stored = await reader.load(session_id);
  if (!stored.ok) throw new StorageError(stored.error);
  const asks = [...valuesOf<LedgerAsk>(stored.value, "ask").values()];
  const waiting = asks
    .flatMap((ask) => waitingFor(reader, session_id, ask))
    .map((one) => ({ ...one, kept: keptFor(reader, session_id, one) }));
  const holds = [...valuesOf<LedgerHold>(stored.value, "hold").values()];
  return { waiting, holds: holds.filter(({ until }) => until === undefined) };
}

/** Why the role failed for which a session stopped, if that is why. Throws a `StorageError`. */
export function whyStopped(reader: StoreReader, { session_id, state }: SessionRow): Cause | undefined {
  const [last] = state === "stopped" ? reader.newest(session_id, ["session_stopped"]) : [];
  const isFailed = last !== undefined && (JSON.parse(last) as LogRecord).payload.reason === "manager_failed";
  return isFailed ? causeIn(reader, session_id, ["turn_failed"]) : undefined;
}

export function waitingFor(reader: StoreReader, session_id: string, ask: Ask): Waiting[] {
  const { payload } = keptRecord(reader, session_id, ask.record);
  if (ask.kind !== "review") return waitingIn(ask, payload);
  const changed = reader.value(session_id, "change", ask.subject ?? "") as unknown as ChangedFiles | undefined;
  return waitingIn(ask, payload, failedOf(reader, session_id, ask.subject), changed);
}

/** The failed checks of work that needs a review. */
function failedOf(reader: StoreReader, session_id: string, ticket_id = ""): string[] {
  const ticket = ticketValue(reader, session_id, ticket_id);
  if (ticket?.check === undefined || ticket.checks_passed !== false) return [];
  return failedChecks(keptRecord(reader, session_id, ticket.check).payload);
}
