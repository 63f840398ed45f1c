import type { Engine } from "../kernel/engine.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Command } from "../kernel/mode.ts";
import { fitting, from, type Lookup, resolve } from "../kernel/references.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { spendOf } from "../kernel/spends.ts";
import { defined, type JsonObject, listOf, objectOf } from "../lib/json.ts";
import { writeDocument, writeReport } from "../log/report.ts";
import type { Head } from "../log/verify.ts";
import { MAX_PAYLOAD_BYTES } from "../protocol/limits.ts";
import type { Role } from "../protocol/roles.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { recordOf } from "../protocol/recording.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { SessionContext } from "./context.ts";
import { EXIT_DONE, EXIT_FAILED } from "./exit.ts";
import type { Journal } from "./journal.ts";
import { spentOf, usageOf } from "./usage.ts";

/** Maximum size of one ticket's usage, in bytes. */
const SPENT_BYTES = 256;

interface Closing extends Pick<SessionContext, "session_id" | "opened_at"> {
  readonly mode: string;
  readonly at: Instant;
  readonly command: Extract<Command, { do: "finish" }>;
  readonly ledger: Ledger;
  /** The last record before the report. */
  readonly head: Head;
  readonly records: Lookup;
}

/** Puts the final report and the closing record into the next commit; the report's files follow it. */
export function recordClose<S>(
  context: SessionContext,
  { mode, ledger }: Engine<S>,
  journal: Journal,
  command: Closing["command"],
  at: Instant,
): void {
  const { session_id, opened_at, paths, records } = context;
  const { head } = journal;
  const closing = { session_id, mode: mode.name, opened_at, at, command, ledger, head, records };
  const [report, closed] = closingRecords(closing);
  journal.record(report);
  journal.record(closed);
  journal.afterCommit(() => {
    const written = writeReport(paths.folder, report.payload, mode.presentation, context.roles);
    if (!written.ok) context.fail(written.error);
    const own = context.store.session(session_id);
    if (!own.ok) return context.fail(own.error);
    // What a child session came to is its parent's to use.
    if (own.value.parent !== null) return crashPoint("report_written");
    const beside = writeDocument(context.workspace, report.payload, mode.presentation, { replaces: true });
    if (!beside.ok) context.fail(beside.error);
    crashPoint("report_written");
  });
}

/** Makes the final report and the closing record. They follow from the log before them, so a replay makes the same ones. */
export function closingRecords(closing: Closing): [report: UnsealedRecord, closed: UnsealedRecord] {
  const { session_id, at, command, ledger } = closing;
  const why = defined({ reason: command.reason });
  const report: JsonObject = {
    ...withSpends(closing),
    session_id,
    mode: closing.mode,
    outcome: command.outcome,
    ...why,
    started_at: closing.opened_at,
    finished_at: at,
    usage: usageOf(ledger),
    recoveries: ledger.figures.recoveries,
    ...sandboxesOf(closing),
    log: { records: closing.head.sequence, head: closing.head.hash },
  };
  const exit_code = command.outcome === "done" ? EXIT_DONE : EXIT_FAILED;
  const end = { outcome: command.outcome, ...why, exit_code };
  const base = { session_id, at, source: "scheduler", kind: "decided", disposition: "applied" } as const;
  return [
    recordOf({ ...base, target: "user", payload_type: "final_report", payload: report }),
    recordOf({ ...base, target: "session", payload_type: "session_closed", payload: end }),
  ];
}

/** The mode's report, with the usage of the turns about each of its tickets. */
function withSpends({ command, ledger, records }: Closing): JsonObject {
  const bytes = MAX_PAYLOAD_BYTES - ledger.spends.size * SPENT_BYTES;
  const report = resolve(fitting(command.report, bytes), records) as JsonObject;
  const tickets = listOf(report.tickets).map((one) => {
    const { ticket_id } = objectOf(one);
    const spend = typeof ticket_id === "string" ? spendOf(ledger, ticket_id) : undefined;
    return spend === undefined ? one : { ...objectOf(one), usage: spentOf(spend) as JsonObject };
  });
  return tickets.length > 0 ? { ...report, tickets } : report;
}

/** The sandbox level of each role that has one, from the first record. */
function sandboxesOf({ records }: Closing): JsonObject {
  const { roles = [] } = resolve({ roles: from(1, "/roles") }, records) as {
    roles?: Pick<Role, "role_id" | "sandbox">[];
  };
  const kept = roles.flatMap(({ role_id, sandbox = "none" }) => (sandbox === "none" ? [] : [[role_id, sandbox]]));
  return kept.length === 0 ? {} : { sandboxes: Object.fromEntries(kept) as JsonObject };
}
