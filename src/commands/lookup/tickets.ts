import type { Ledger, LedgerTurn } from "../../kernel/ledger.ts";
import type { Results } from "../../kernel/mode.ts";
import type { Presentation } from "../../kernel/presentation.ts";
import { from } from "../../kernel/references.ts";
import { reasonReader, type SessionState } from "../../kernel/state.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { StoreReader } from "../../store/store.ts";
import type { TicketLine } from "../../ui/reporter.ts";
import { allWords, wordsOf } from "../../ui/words.ts";
import { recordAt } from "./state.ts";

/** The turns that agents hold or, if the session's scheduler has left, held then. */
export function openTurns({ turns }: Ledger): LedgerTurn[] {
  return [...turns.values()].filter(({ status }) => status === "open");
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

/** The tickets of a final report, by id. */
export function reportedTickets(report: JsonObject | undefined): ReadonlyMap<string, JsonObject> {
  return new Map(((report?.tickets ?? []) as JsonObject[]).map((ticket) => [wordsOf(ticket.ticket_id), ticket]));
}

/** What ticket lines are made from: the state, and what only records and the mode's rows know. */
export interface TicketSources {
  readonly state: SessionState;
  readonly presentation: Presentation;
  readonly report: JsonObject | undefined;
  readonly resultsOf: (id: string) => Results | undefined;
  /** Resolves a reference. */
  readonly resolved: (reference: Json) => Json;
}

/** The tickets for tables. Only a report says what blocks a ticket. */
export function ticketLines({ state, presentation, report, resultsOf, resolved }: TicketSources): TicketLine[] {
  const reported = reportedTickets(report);
  const reasonOf = reasonReader(state, presentation);
  return [...state.subjects.values()].map((subject) => {
    const { id, status, title, attempt, owner, spent, depends_on } = subject;
    const fromReport = reported.get(id);
    const [blocked_by] = [fromReport?.blocked_by].flat();
    const latest = resultsOf(id)?.latest;
    const outputs =
      fromReport || latest === undefined ? fromReport?.outputs : resolved({ ...from(latest, "/outputs") });
    return {
      ticket_id: id,
      status,
      title,
      attempt,
      outputs: allWords(outputs),
      reason: reasonOf(subject),
      owner,
      spent,
      said: status === "error" && latest !== undefined ? troubleIn(latest, resolved) : undefined,
      blocked_by: typeof blocked_by === "string" ? blocked_by : undefined,
      dependencies: depends_on,
    };
  });
}

/** What a report says went wrong, unless it reports the work as completed. */
function troubleIn(report: number, resolved: TicketSources["resolved"]): string | undefined {
  const of = (field: string) => wordsOf(resolved({ ...from(report, field) }));
  return of("/status") === "completed" ? undefined : of("/summary");
}
