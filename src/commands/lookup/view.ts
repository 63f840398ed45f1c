import type { Ledger } from "../../kernel/ledger.ts";
import type { ModeReader, Results } from "../../kernel/mode.ts";
import { resolve } from "../../kernel/references.ts";
import type { Presentation } from "../../kernel/presentation.ts";
import { type SessionState, standingState } from "../../kernel/state.ts";
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
import { wordsOf } from "../../ui/words.ts";
import { openAsks } from "./asks.ts";
import { loadReading, unknownMode } from "./modes.ts";
import { finalReport, reportedTickets, ticketLines } from "./tickets.ts";

/** A stored session, all read at one moment. */
export interface StoredView {
  readonly row: SessionRow;
  readonly presentation: Presentation;
  readonly state: SessionState;
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
  const engine = { mode, ...stateIn(stored.value, mode) };
  const { ledger } = engine;
  const records = new SessionRecords(
    (sequence) => measuredRecord(reader, session_id, sequence),
    sessionPaths(home, session_id).folder,
  );
  const { presentation } = mode;
  const resolved = (reference: Json) => resolve(reference, records) ?? "";
  const state = standingState(engine, (title) => wordsOf(resolved(title)));
  const resultsOf = (id: string) => mode.results?.(engine.state, id);
  const report = finalReport(reader, session_id, row.last_sequence);
  const reported = reportedTickets(report);
  return ok({
    row,
    presentation,
    state,
    ledger,
    tickets: ticketLines({ state, presentation, report, resultsOf, resolved }),
    report,
    waiting: openAsks(reader, session_id, state),
    resultsOf: (ticket_id) => reported.get(ticket_id) ?? resultsIn(records, resultsOf(ticket_id)),
  });
}

/** The results of a ticket so far, from its records. */
function resultsIn(records: SessionRecords, results: Results | undefined): JsonObject {
  if (results === undefined) return {};
  const { latest, kept, figures } = results;
  const { summary, issues, next_actions } = latest === undefined ? {} : records.record(latest).payload;
  return { ...figures, summary, issues, next_actions, artifacts: kept.map((record) => records.record(record).payload) };
}
