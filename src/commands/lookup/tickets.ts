import type { Ledger } from "../../kernel/ledger.ts";
import type { SessionView } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { runningTurns } from "../../runtime/feed/standing.ts";
import type { StoreReader } from "../../store/store.ts";
import type { TicketLine } from "../../ui/reporter.ts";
import { allWords, wordsOf } from "../../ui/words.ts";
import { recordAt } from "./state.ts";

/** Number of turns that were cut off when a session's scheduler left. */
export function interruptedTurns({ turns }: Ledger): number {
  return runningTurns(turns.values()).length;
}

/** Marks the tickets whose turn or checks were cut off when the session's scheduler left. */
export function markInterrupted(tickets: readonly TicketLine[], { turns, checks }: Ledger): TicketLine[] {
  const cut = new Set([...runningTurns(turns.values()), ...checks.values()].map(({ subject }) => subject));
  return tickets.map((ticket) => (cut.has(ticket.ticket_id) ? { ...ticket, interrupted: true } : ticket));
}

/** Marks the tickets whose review no reviewer has begun. */
export function markUnreviewed(tickets: readonly TicketLine[], { turns }: Ledger): TicketLine[] {
  const offered = [...turns.values()].filter(({ status, seat }) => status === "offered" && seat.type === "participant");
  const waiting = new Set(offered.map(({ subject }) => subject));
  return tickets.map((ticket) =>
    ticket.status === "awaiting_review" && waiting.has(ticket.ticket_id)
      ? { ...ticket, reason: "waiting_for_reviewer" }
      : ticket,
  );
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

/** The tickets of a view for tables; `resolved` reads references. Only a report says what blocks a ticket. */
export function ticketLines(
  view: SessionView,
  resolved: (reference: Json) => Json,
  report: JsonObject | undefined,
): TicketLine[] {
  const reported = reportedTickets(report);
  return view.subjects.map((subject) => {
    const fromReport = reported.get(subject.id);
    const [blocked_by] = [fromReport?.blocked_by].flat();
    const spent = subject.results?.figures.spent;
    const latest = subject.results?.latest;
    const outputs =
      fromReport || latest === undefined ? fromReport?.outputs : resolved({ ...from(latest, "/outputs") });
    return {
      ticket_id: subject.id,
      status: subject.status,
      title: wordsOf(resolved(subject.title)),
      attempt: subject.attempt,
      outputs: allWords(outputs),
      reason: subject.reason,
      owner: subject.owner,
      spent: typeof spent === "string" ? spent : undefined,
      said: subject.status === "error" && latest !== undefined ? troubleIn(latest, resolved) : undefined,
      blocked_by: typeof blocked_by === "string" ? blocked_by : undefined,
      dependencies: subject.depends_on,
    };
  });
}

/** What a report says went wrong, unless it reports the work as completed. */
function troubleIn(report: number, resolved: (reference: Json) => Json): string | undefined {
  const of = (field: string) => wordsOf(resolved({ ...from(report, field) }));
  return of("/status") === "completed" ? undefined : of("/summary");
}
