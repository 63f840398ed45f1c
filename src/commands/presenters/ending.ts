import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { costsMoney } from "../../config/role-defaults.ts";
import { openTurns } from "../../kernel/deltas.ts";
import type { Ledger, LedgerFigures } from "../../kernel/ledger.ts";
import { type Presentation, shownStatus } from "../../kernel/presentation.ts";
import { spendOf, withCutRuns } from "../../kernel/spends.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { openable } from "../../log/report.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, EXIT_LIMIT, exitCodeOf, recordedEnd } from "../../runtime/exit.ts";
import type { ReadableSession } from "../../runtime/notifications.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { spentOf, usageOf } from "../../runtime/usage.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Ending, TicketLine } from "../../ui/reporter.ts";
import { type ChildWaiting, commandFor, releasesOf, type Unheard, type Waiting } from "../../ui/waiting.ts";
import { wordsOf } from "../../ui/words.ts";
import { exitCodeAfter } from "../context/exit-code.ts";
import { type KeptMessage, unheard, unsettled } from "../lookup/kept.ts";
import { whereabouts } from "../lookup/copies.ts";
import { openedWith } from "../lookup/state.ts";
import { markInterrupted, neededOf, readSession, type SessionView, viewOf } from "../lookup/view.ts";

/** The state of a session when a command leaves it, from this process or from the store. */
export interface SessionSnapshot extends SessionView {
  readonly session_id: string;
  readonly free: boolean;
  readonly roles: readonly Role[];
  /** Messages that came too late to be taken before it closed. */
  readonly unheard: readonly KeptMessage[];
  /** What its open child sessions wait for. */
  readonly children: readonly ChildWaiting[];
  /** The document of its final report, if it was written. */
  readonly documents: readonly string[];
}

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
  const opened = openedWith(store, session_id);
  const free = !opened?.roles.some(costsMoney);
  const late = view.ledger.figures.closed ? unheard(store, session_id) : [];
  const document = view.report && view.presentation.document?.(view.report);
  const file = opened && document && resolve(opened.workspace, document.path);
  const documents = file !== undefined && existsSync(file) ? [file] : [];
  return { ...view, session_id, free, roles: opened?.roles ?? [], unheard: late, children: [], documents };
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

export function buildEnding(home: string, left: SessionSnapshot, { end, exited, elapsed_ms }: End): Ending {
  const {
    session_id,
    presentation,
    free,
    roles,
    state,
    ledger,
    tickets,
    cause,
    waiting,
    unheard: late,
    children,
    report,
    documents,
  } = left;
  const exit_code = exited ?? exitCodeAfter(end, ledger.figures);
  const spent = withCutRuns(ledger);
  const paths = sessionPaths(home, session_id);
  const file = join(paths.folder, "final_report.md");
  const where = whereabouts(home, session_id, left);
  return {
    ...{ session_id, presentation, free, roles, waiting, children, exit_code },
    state: state.state,
    message: messageOf(end, presentation, ledger.asks.size + children.length > 0),
    cause,
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
    kept: [...keptFiles(report, home), ...documents],
    where: where?.words,
    log: paths.log,
    next: [...(where?.next ?? []), ...nextSteps(session_id, { ...left, exit_code })],
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

/** What determines the next commands of a session. */
interface Left {
  readonly presentation: Presentation;
  readonly exit_code: number;
  readonly waiting: readonly Waiting[];
  readonly children: readonly ChildWaiting[];
  readonly ledger: Pick<Ledger, "figures" | "holds">;
  readonly report: JsonObject | undefined;
}

/** Maximum number of answers listed; `bosun inbox` has the rest. */
const ANSWERS_SHOWN = 5;

/** The commands to type next, the most useful first. */
export function nextSteps(
  session_id: string,
  { presentation, exit_code, waiting, children, ledger: { figures, holds }, report }: Left,
): string[] {
  if (report) {
    const lost = presentation.worthRetrying?.(report) ?? [];
    const again = [
      ...lost.slice(0, ANSWERS_SHOWN).map((subject) => `bosun log ${session_id} ${subject}`),
      ...(lost.length > 0 ? [`bosun retry ${session_id} ${lost.length > 1 ? "--all" : lost[0]}`] : []),
    ];
    if (exit_code === EXIT_DONE) return [`bosun report ${session_id}`, `bosun replay ${session_id} --verify`];
    return [...again, `bosun report ${session_id}`];
  }
  const resume = `bosun resume ${session_id}`;
  const limit = figures.stopped?.limit;
  const isSpent = limit?.startsWith("role_") === true;
  if (exit_code === EXIT_LIMIT && limit !== "max_hold_s" && !isSpent) return [`${resume} ${raised(figures)}`];
  const released = releasesOf(
    session_id,
    [...holds.values()].filter(({ limit: own }) =>
      isSpent ? own !== undefined && own.limit !== "turns_per_minute" : own === undefined,
    ),
  );
  const ofChildren = children.flatMap((child) => [
    ...answersTo(child.session_id, child.waiting),
    ...releasesOf(child.session_id, child.holds),
  ]);
  // It fails again, unless something is done about why it failed.
  const why = figures.stopped?.reason === "manager_failed" ? [`bosun log ${session_id}`] : [];
  return [...answersTo(session_id, waiting), ...ofChildren, ...why, ...(released.length > 0 ? released : [resume])];
}

/** The same for a session that is only shown, beside its questions. `held` says whether a process runs it. */
export function nextFor(
  session_id: string,
  held: boolean,
  left: Omit<Left, "exit_code" | "waiting" | "children">,
): string[] {
  const { stopped, paused } = left.ledger.figures;
  if (held) return [paused === true ? `bosun resume ${session_id}` : `bosun log ${session_id} --follow`];
  const end = recordedEnd(left.ledger.figures);
  const exit_code = end === undefined ? EXIT_INTERRUPTED : exitCodeOf(end, stopped?.signal);
  return nextSteps(session_id, { ...left, exit_code, waiting: [], children: [] });
}

/** Messages that came too late, with the command that now has the intended effect: only a retry reopens a session. */
export function lateMessages(
  presentation: Presentation,
  session_id: string,
  words: readonly KeptMessage[],
  tickets: readonly TicketLine[],
): Unheard[] {
  const isLost = ({ status }: TicketLine) =>
    presentation.retries && shownStatus(presentation, status).stage === "failed";
  const lost = new Set<string | undefined>(tickets.filter(isLost).map(({ ticket_id }) => ticket_id));
  return words.map(({ said, command, ticket_id }) =>
    command === "retry" && lost.has(ticket_id) ? { said, again: `bosun retry ${session_id} ${ticket_id}` } : { said },
  );
}

export function answersTo(session_id: string, waiting: readonly Waiting[]): string[] {
  const answers = waiting.slice(0, ANSWERS_SHOWN).map((one) => commandFor(session_id, one));
  return waiting.length > ANSWERS_SHOWN ? [...answers, `bosun inbox`] : answers;
}

function raised({ stopped }: LedgerFigures): string {
  const { limit, used = 0, max = 0 } = stopped ?? {};
  switch (limit) {
    case "turns":
      return `--budget-turns ${Math.max(used, 1) * 2}`;
    case "tokens":
    case "usd":
      // A limit that was not reached stopped the session because usage is unknown; the same limit accepts that.
      return `--budget-${limit} ${used >= max ? Math.ceil(Math.max(used, 1) * 2) : max}`;
    default:
      return "--deadline 4h";
  }
}
