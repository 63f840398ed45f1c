import { existsSync } from "node:fs";
import { join } from "node:path";
import { costsMoney } from "../../config/role-defaults.ts";
import type { Ledger } from "../../kernel/ledger.ts";
import { spendOf, withCutRuns } from "../../kernel/spends.ts";
import type { Presentation } from "../../kernel/presentation.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { openable } from "../../log/report.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { ReadableSession } from "../../runtime/notifications.ts";
import { spentOf, usageOf } from "../../runtime/usage.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Ending, TicketLine } from "../../ui/reporter.ts";
import type { ChildWaiting } from "../../ui/waiting.ts";
import { wordsOf } from "../../ui/words.ts";
import { exitCodeAfter } from "../context/exit-code.ts";
import { type KeptMessage, unheard, unsettled } from "../lookup/kept.ts";
import { openedWith } from "../lookup/state.ts";
import { markInterrupted, neededOf, openTurns, readSession, type SessionView, viewOf } from "../lookup/view.ts";
import { lateMessages, nextSteps } from "./next.ts";

/** The state of a session when a command leaves it, from this process or from the store. */
export interface SessionSnapshot extends SessionView {
  readonly session_id: string;
  readonly free: boolean;
  /** Messages that came too late to be taken before it closed. */
  readonly unheard: readonly KeptMessage[];
  /** What its open child sessions wait for. */
  readonly children: readonly ChildWaiting[];
}

/** How the command ends. */
export interface End {
  readonly end: Fallible<SessionEnd>;
  /** The exit code of the process that ran the session, if that is another process and the code is known. */
  readonly exited?: number | undefined;
  /** How long this command ran it, in ms. */
  readonly elapsed_ms?: number | undefined;
}

/** The current state of a session in this process, without its children. */
export function snapshotOf(store: StoreReader, session: ReadableSession): SessionSnapshot {
  const { session_id, engine, sequence } = session;
  const resolved = (reference: Json) => session.resolve({ value: reference }).value ?? "";
  return snapshot(store, session_id, viewOf(store, session_id, engine, sequence, resolved));
}

function snapshot(store: StoreReader, session_id: string, view: SessionView): SessionSnapshot {
  const free = !openedWith(store, session_id)?.roles.some(costsMoney);
  const late = view.ledger.figures.closed ? unheard(store, session_id) : [];
  return { ...view, session_id, free, unheard: late, children: [] };
}

/** The state of a stored session. Failures as `readSession`. Throws a `StorageError`. */
export async function storedSnapshot(
  store: StoreReader,
  home: string,
  session_id: string,
): Promise<Fallible<SessionSnapshot>> {
  const row = store.session(session_id);
  if (!row.ok) return row;
  const read = await readSession(store, home, row.value);
  if (!read.ok) return read;
  const waiting = unsettled(read.value.waiting);
  const children = read.value.ledger.figures.closed ? [] : await waitingChildren(store, session_id);
  return ok({ ...snapshot(store, session_id, read.value), waiting, children });
}

/** Builds the ending that the reporter shows. */
export function buildEnding(home: string, left: SessionSnapshot, { end, exited, elapsed_ms }: End): Ending {
  const { session_id, presentation, free, state, ledger, tickets, waiting, unheard: late, children, report } = left;
  const exit_code = exited ?? exitCodeAfter(end, ledger.figures);
  const spent = withCutRuns(ledger);
  const paths = sessionPaths(home, session_id);
  const file = join(paths.folder, "final_report.md");
  return {
    ...{ session_id, presentation, free, waiting, children, exit_code },
    state: state.state,
    message: messageOf(end, presentation, ledger.asks.size + children.length > 0),
    failure: end.ok ? undefined : end.error,
    outcome: end.ok && end.value.kind === "closed" ? end.value.outcome : undefined,
    tickets: withUsage(markInterrupted(tickets, ledger), spent),
    interrupted_turns: openTurns(ledger).length,
    usage: usageOf(spent),
    elapsed_ms,
    result: report?.result as JsonObject | undefined,
    unheard: lateMessages(presentation, session_id, late, tickets),
    // In a reopened session, the report of an earlier end is out of date.
    report: report !== undefined && existsSync(file) ? file : undefined,
    kept: keptFiles(report, home),
    log: paths.log,
    next: nextSteps(session_id, { ...left, exit_code }),
  };
}

/** Adds the usage of the ended turns about each ticket. */
export function withUsage(tickets: readonly TicketLine[], ledger: Ledger): TicketLine[] {
  return tickets.map((ticket) => {
    const spend = spendOf(ledger, ticket.ticket_id);
    return spend === undefined ? ticket : { ...ticket, usage: spentOf(spend) };
  });
}

/** The kept files of a final report, without references elsewhere. Older records have complete addresses. */
function keptFiles(report: JsonObject | undefined, home: string): string[] {
  const artifacts = listOf(report?.tickets).flatMap((ticket) => listOf(objectOf(ticket).artifacts));
  const uris = artifacts.map((artifact) => wordsOf(objectOf(artifact).uri));
  return uris.filter((uri) => /^(?:sessions\/|file:)/.test(uri)).map((uri) => openable(uri, home));
}

function messageOf(end: Fallible<SessionEnd>, presentation: Presentation, isAsked: boolean): string | undefined {
  if (!end.ok) return end.error.hint;
  if (end.value.kind === "closed") {
    const { reason = "" } = end.value;
    const reasons: Readonly<Record<string, string>> = {
      cancelled: "It was cancelled.",
      no_progress: `No ${presentation.subjectName} can make progress.`,
      invalid_input: "Its input was invalid; the log says why.",
      ...presentation.closingReasons,
    };
    return reasons[reason] ?? end.value.reason;
  }
  // Questions are listed below; a hold is only in the message.
  return end.value.reason === "waiting" && isAsked ? undefined : end.value.message;
}

/** What the open child sessions of a session need a person for, from their stored state. Throws a `StorageError`. */
export async function waitingChildren(reader: StoreReader, parent: string): Promise<ChildWaiting[]> {
  const all: ChildWaiting[] = [];
  for (const { session_id, state } of reader.sessions({ parent })) {
    if (state === "closed") continue;
    const { waiting: asked, holds } = await neededOf(reader, session_id);
    const waiting = unsettled(asked);
    if (asked.length + holds.length > 0) all.push({ session_id, waiting, holds });
  }
  return all;
}

/** What of it was not shown yet; remembers it in `shown`. */
export function notYetShown(children: readonly ChildWaiting[], shown: Set<string>): ChildWaiting[] {
  const isNew = (...what: readonly (string | undefined)[]) => {
    const key = JSON.stringify(what);
    return !shown.has(key) && shown.add(key).size > 0;
  };
  const news = children.map(({ session_id, waiting, holds }) => ({
    session_id,
    waiting: waiting.filter((one) => isNew(session_id, JSON.stringify(one))),
    holds: holds.filter(({ role_id, since }) => isNew(session_id, role_id, since)),
  }));
  return news.filter(({ waiting, holds }) => waiting.length + holds.length > 0);
}
