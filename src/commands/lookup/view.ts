import type { Ledger } from "../../kernel/ledger.ts";
import type { ModeReader, Results, SessionView } from "../../kernel/mode.ts";
import { resolve } from "../../kernel/references.ts";
import type { Presentation } from "../../kernel/presentation.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { SessionRecords } from "../../runtime/records.ts";
import { stateIn } from "../../runtime/stored-state.ts";
import { measuredRecord } from "../../store/kept-record.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import type { TicketLine } from "../../ui/reporter.ts";
import type { Waiting } from "../../ui/waiting.ts";
import { openAsks } from "./asks.ts";
import { loadReading, unknownMode } from "./modes.ts";
import { finalReport, reportedTickets, markUnreviewed, ticketLines } from "./tickets.ts";

/** A stored session, all read at one moment. */
export interface StoredView {
  readonly row: SessionRow;
  readonly presentation: Presentation;
  readonly view: SessionView;
  readonly ledger: Ledger;
  readonly tickets: readonly TicketLine[];
  /** The final report, if the session is closed. */
  readonly report: JsonObject | undefined;
  readonly waiting: readonly Waiting[];
  /** The results of a ticket so far, as in the final report. Read on demand, because there may be very many. */
  readonly resultsOf: (ticket_id: string) => JsonObject;
}

/** Reads a session; `environment` for a mode that this version does not have. */
export async function readSession(
  reader: StoreReader,
  home: string,
  row: SessionRow,
): Promise<Result<StoredView, Failure>> {
  const mode = await loadReading(row.mode);
  if (mode === undefined) return err(unknownMode(row));
  return reader.snapshot(() => readAs(mode, reader, home, row.session_id));
}

async function readAs(
  mode: ModeReader<unknown>,
  reader: StoreReader,
  home: string,
  session_id: string,
): Promise<Result<StoredView, Failure>> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return stored;
  const row = stored.value.session;
  const { state, ledger } = stateIn(stored.value, mode);
  const records = new SessionRecords(
    (sequence) => measuredRecord(reader, session_id, sequence),
    sessionPaths(home, session_id).folder,
  );
  const view = mode.view(state);
  const resolved = (reference: Json) => resolve(reference, records) ?? "";
  const report = finalReport(reader, session_id, row.last_sequence);
  const reported = reportedTickets(report);
  const results = new Map(view.subjects.map((subject) => [subject.id, subject.results]));
  return ok({
    row,
    presentation: mode.presentation,
    view,
    ledger,
    tickets: markUnreviewed(ticketLines(view, resolved, report), ledger),
    report,
    waiting: openAsks(reader, session_id, ledger),
    resultsOf: (ticket_id) => reported.get(ticket_id) ?? resultsIn(records, results.get(ticket_id)),
  });
}

/** The results of a ticket so far, from its records. */
function resultsIn(records: SessionRecords, results: Results | undefined): JsonObject {
  if (results === undefined) return {};
  const { latest, kept, figures } = results;
  const { summary, issues, next_actions } = latest === undefined ? {} : records.record(latest).payload;
  return { ...figures, summary, issues, next_actions, artifacts: kept.map((record) => records.record(record).payload) };
}
