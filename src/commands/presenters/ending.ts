import { existsSync } from "node:fs";
import { join } from "node:path";
import { costsMoney } from "../../config/role-defaults.ts";
import type { Ledger } from "../../kernel/ledger.ts";
import type { Presentation } from "../../kernel/presentation.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { ReadableSession } from "../../runtime/notifications.ts";
import { usageOf } from "../../runtime/usage.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Ending, TicketLine } from "../../ui/reporter.ts";
import type { ChildWaiting, Waiting } from "../../ui/waiting.ts";
import { exitCodeAfter } from "../context/exit-code.ts";
import { type KeptWord, settledBy, unheard } from "../interaction/kept.ts";
import { openAsks } from "../lookup/asks.ts";
import { openedWith } from "../lookup/state.ts";
import { finalReport, ticketLines } from "../lookup/tickets.ts";
import { readSession } from "../lookup/view.ts";
import { childrenWaiting } from "./children-waiting.ts";
import { nextSteps, unheardWords } from "./next.ts";

/** How a session stands when it is left, whether it ran in this process or is read from the store. */
export interface SessionSnapshot {
  readonly session_id: string;
  readonly presentation: Presentation;
  readonly free: boolean;
  readonly state: string;
  readonly tickets: readonly TicketLine[];
  readonly ledger: Ledger;
  readonly waiting: readonly Waiting[];
  /** What was put to it and not heard before it closed. */
  readonly unheard: readonly KeptWord[];
  /** What its child sessions wait for, where they do not speak for themselves. */
  readonly children: readonly ChildWaiting[];
  /** The final report, if there is one. */
  readonly report: JsonObject | undefined;
}

/** How `run` left the session. */
export interface End {
  readonly end: Result<SessionEnd, Failure>;
  /** What the process exited with that ran it, if that is another and it is known. */
  readonly exited?: number | undefined;
  /** How long this process ran it, or had it run. */
  readonly elapsed_ms?: number | undefined;
}

/** A session of this process, as it stands now, without its children. */
export function snapshotOf(store: StoreReader, session: ReadableSession): SessionSnapshot {
  const { session_id, presentation, ledger } = session;
  const view = session.view();
  const report = finalReport(store, session_id, session.sequence);
  const resolved = (reference: Json) => session.resolve({ value: reference }).value ?? "";
  const tickets = ticketLines(view, resolved, report);
  const waiting = openAsks(store, session_id, ledger);
  const free = isFree(store, session_id);
  const late = ledger.figures.closed ? unheard(store, session_id) : [];
  return {
    session_id,
    presentation,
    free,
    state: view.state,
    tickets,
    ledger,
    waiting,
    unheard: late,
    children: [],
    report,
  };
}

/** The same with what its children wait for. Throws a `StorageError`. */
export async function withChildren(store: StoreReader, snapshot: SessionSnapshot): Promise<SessionSnapshot> {
  if (snapshot.ledger.figures.closed) return snapshot;
  return { ...snapshot, children: await childrenWaiting(store, snapshot.session_id) };
}

/** The same for whoever has only the store: any other process, and this one when memory holds what was never committed. Failures as `readSession`. */
export async function storedSnapshot(
  store: StoreReader,
  home: string,
  session_id: string,
): Promise<Result<SessionSnapshot, Failure>> {
  const row = store.session(session_id);
  if (!row.ok) return row;
  const stored = await readSession(store, home, row.value);
  if (!stored.ok) return stored;
  const { view, waiting: asked, ...read } = stored.value;
  // What has its answer already goes on with `resume`, and a second one would be refused.
  const waiting = asked.filter((one) => settledBy(store, session_id, one) === undefined);
  const late = read.ledger.figures.closed ? unheard(store, session_id) : [];
  const free = isFree(store, session_id);
  const snapshot = { ...read, session_id, free, state: view.state, waiting, unheard: late, children: [] };
  return ok(await withChildren(store, snapshot));
}

/** How a command leaves a session, for whoever is told. */
export function buildEnding(
  home: string,
  { session_id, presentation, free, state, tickets, ledger, waiting, unheard: late, children, report }: SessionSnapshot,
  { end, exited, elapsed_ms }: End,
): Ending {
  const exit_code = exited ?? exitCodeAfter(end, ledger.figures);
  const message = messageOf(end, presentation, ledger.asks.size + children.length > 0);
  const paths = sessionPaths(home, session_id);
  const file = join(paths.folder, "final_report.md");
  return {
    session_id,
    presentation,
    free,
    exit_code,
    state,
    message,
    failure: end.ok ? undefined : end.error,
    outcome: end.ok && end.value.kind === "closed" ? end.value.outcome : undefined,
    tickets,
    usage: usageOf(ledger.figures),
    elapsed_ms,
    result: report?.result as JsonObject | undefined,
    waiting,
    unheard: unheardWords(session_id, late, tickets),
    children,
    // One of an earlier end says nothing of how a session stands that was opened again.
    report: report !== undefined && existsSync(file) ? file : undefined,
    log: paths.log,
    next: nextSteps(session_id, {
      presentation,
      exit_code,
      waiting,
      children,
      figures: ledger.figures,
      holds: ledger.holds.values(),
      report,
    }),
  };
}

/** Whether none of the session's roles costs money, as far as anyone can tell. */
function isFree(store: StoreReader, session_id: string): boolean {
  return !openedWith(store, session_id)?.roles.some(costsMoney);
}

/** Why a session of whatever mode closed otherwise than well, in words; the code of a failure stands for itself. */
const CLOSED_BECAUSE: Readonly<Record<string, string>> = {
  cancelled: "It was cancelled.",
  no_progress: "Nothing was left that could go on.",
  invalid_input: "What it was given could not stand; its log says why.",
};

function messageOf(
  end: Result<SessionEnd, Failure>,
  { closingReasons }: Presentation,
  isAsked: boolean,
): string | undefined {
  if (!end.ok) return end.error.hint;
  if (end.value.kind === "closed") {
    const { reason = "" } = end.value;
    return closingReasons?.[reason] ?? CLOSED_BECAUSE[reason] ?? end.value.reason;
  }
  // What is asked is listed by itself; of a hold only the message tells.
  return end.value.reason === "waiting" && isAsked ? undefined : end.value.message;
}
