import { basename } from "node:path";
import { openTurns } from "../../kernel/deltas.ts";
import type { Ledger, LedgerHold } from "../../kernel/ledger.ts";
import { withCutRuns } from "../../kernel/spends.ts";
import type { SessionState } from "../../kernel/state.ts";
import { formatDuration } from "../../lib/durations.ts";
import { spendWords, totalWords } from "../../log/usage-words.ts";
import type { Failure } from "../../protocol/failure.ts";
import { milliseconds } from "../../protocol/timestamp.ts";
import { FollowedState, NOTED, type RunningTurn } from "../../runtime/feed/standing.ts";
import { sessionTime } from "../../runtime/time/session-time.ts";
import { usageOf } from "../../runtime/usage.ts";
import { keptRecord, latestOf } from "../../store/kept-record.ts";
import { StorageError } from "../../store/storage-error.ts";
import type { Holder, SessionRow, StoreReader } from "../../store/store.ts";
import { clipped, hanging, safeLine } from "../../ui/display.ts";
import { causeLines, interruptedLines, shortTicketTable, ticketTable } from "../../ui/ending.ts";
import { outageWords, quotaLines } from "../../ui/hold-words.ts";
import { firstLines, type Part, partOf, type PartShown } from "../../ui/parts.ts";
import { PROSE_WIDTH, tableLines } from "../../ui/table.ts";
import type { Output, Style } from "../../ui/terminal.ts";
import { localMoment } from "../../ui/timeline.ts";
import { holdSentence, showKept, showWaiting, unheardLines } from "../../ui/waiting.ts";
import { counted, localize, MAX_NAMED, quoted, runningWords, tellNext } from "../../ui/words.ts";
import { keptCommands, type Needed, unheard } from "../lookup/kept.ts";
import type { Whereabouts } from "../lookup/copies.ts";
import { isBegun } from "../lookup/resolve.ts";
import { markInterrupted, type StoredView } from "../lookup/view.ts";
import { lateMessages, nextFor } from "./ending.ts";

/** A session, and its owner just before it was read. */
export interface SeenSession extends StoredView {
  readonly owner: Holder | undefined;
  /** Where its work is, if its tickets work in copies. */
  readonly where: Whereabouts | undefined;
}

/** The parts of the status, most important first. */
const IMPORTANCE = [
  "headline",
  "why",
  "needs",
  "holds",
  "where",
  "next",
  "cut off",
  "children",
  "kept",
  "late",
  "running",
  "figures",
  "tickets",
  "progress",
  "about",
] as const;

/** A session as parts of a screen: its tickets, who works, what it needs, and what to type next. */
export function sessionParts(
  out: Output,
  store: StoreReader,
  { row, owner, where, presentation, state, ledger, tickets, cause, report, waiting }: SeenSession,
): Part[] {
  const { session_id } = row;
  const now = sessionTime(store, session_id, owner !== undefined);
  const part = (name: (typeof IMPORTANCE)[number], write: (paper: Output) => void, how: PartShown = {}) =>
    partOf(out, IMPORTANCE.indexOf(name), write, how);
  const shown = owner === undefined ? markInterrupted(tickets, ledger) : tickets;
  const turns = owner === undefined ? [] : runningTurns(store, row, state);
  const late =
    row.state === "closed" ? lateMessages(presentation, session_id, unheard(store, session_id), tickets) : [];
  const kept = row.state === "closed" ? [] : keptCommands(store, session_id);
  const steps = nextFor(session_id, owner !== undefined, { presentation, ledger, report });
  const next = owner === undefined ? [...(where?.next ?? []), ...steps] : steps;
  return [
    part("headline", (paper) => say(paper, `${session_id} ${headWords(row, owner)}`, "bold")),
    part("about", (paper) => showAbout(paper, row), { joined: true }),
    part("why", (paper) => writeAll(paper, causeLines({ presentation, tickets, cause }, paper)), { joined: true }),
    part("tickets", (paper) => writeAll(paper, shown.length === 0 ? [] : ticketTable(presentation, shown, paper)), {
      shorter: (rows) => shortTicketTable(presentation, shown, out, rows),
    }),
    part("cut off", (paper) => writeAll(paper, interruptedLines(paper, owner ? 0 : openTurns(ledger).length))),
    part("running", (paper) => {
      if (turns.length > 0) say(paper, `Running: ${runningWords(turns, now)}`);
    }),
    part("progress", (paper) => showProgress(paper, turns), { joined: true }),
    ...store
      .sessions({ parent: session_id })
      .filter((child) => isBegun(child) && child.state !== "closed")
      .map((child) => part("children", (paper) => showChild(paper, child))),
    part("needs", (paper) => showAsked(paper, session_id, waiting), {
      shorter: (rows, lines) => firstLines(lines, rows, out.width, `  … ${localize(out, "bosun inbox")}`),
    }),
    part("late", (paper) => writeAll(paper, unheardLines(paper, late))),
    part("kept", (paper) => {
      if (kept.length === 0) return;
      paper.line("Kept until it is resumed:");
      showKept(paper, session_id, kept);
    }),
    ...[...ledger.holds.values()].map((hold) => part("holds", (paper) => showHold(paper, session_id, hold, now))),
    part("figures", (paper) => showFigures(paper, owner ? ledger : withCutRuns(ledger), now)),
    part("where", (paper) => {
      if (where !== undefined) say(paper, where.words);
    }),
    part("next", (paper) => tellNext(paper, ...next.map(safeLine)), { joined: true }),
  ];
}

/** The turns that agents hold, with their latest progress. */
function runningTurns(store: StoreReader, row: SessionRow, state: SessionState): RunningTurn[] {
  const followed = new FollowedState(state);
  if (state.turns.size > 0) for (const record of latestOf(store, row, NOTED)) followed.note(record);
  return followed.running;
}

function showAbout(out: Output, { requirement, workspace }: SessionRow): void {
  if (requirement !== null) out.line(clipped(requirement, out.width));
  out.line(out.style("dim", `in ${safeLine(workspace)}`));
}

function showProgress(out: Output, turns: readonly RunningTurn[]): void {
  for (const { subject, role_id, progress } of turns.slice(0, MAX_NAMED))
    if (progress !== undefined) out.line(out.style("dim", `  ${safeLine(subject ?? role_id)}: ${quoted(progress)}`));
}

function showChild(out: Output, { session_id, mode, state }: SessionRow): void {
  const command = localize(out, `bosun status ${session_id}`);
  for (const line of hanging(`The ${mode} ${session_id} is ${state}:`, out.width, 2, command)) out.line(line);
}

function showAsked(out: Output, session_id: string, asked: readonly Needed[]): void {
  if (asked.length === 0) return;
  out.line("Needs you:");
  for (const one of asked) showWaiting(out, session_id, one, one.kept);
}

/** Shows a hold; nothing for a limit that has ended. */
function showHold(out: Output, session_id: string, hold: LedgerHold, now: number): void {
  const { role_id, reason, until, limit } = hold;
  if (limit !== undefined && until !== undefined && milliseconds(until) <= now) return;
  const isOutage = outageWords(hold) !== undefined;
  const end = until && localMoment(new Date(milliseconds(until)), new Date(now));
  const text = isOutage || end === undefined ? holdSentence(hold) : `Role ${role_id} is held: ${reason}, until ${end}`;
  const endsSoon = limit?.limit === "turns_per_minute";
  say(out, safeLine(text), endsSoon ? "dim" : "yellow");
  if (!endsSoon) out.line(`      ${localize(out, `bosun resume ${session_id} --release ${safeLine(role_id)}`)}`);
}

function showFigures(out: Output, ledger: Ledger, now: number): void {
  const usage = usageOf(ledger);
  const { recoveries } = ledger.figures;
  const figures = [
    counted(usage.turns, "turn"),
    ...totalWords(usage),
    ...(recoveries > 0 ? [`recovered ${counted(recoveries, "time")}`] : []),
  ];
  say(out, figures.join(", "));
  const spent = spendWords(usage.by_role);
  if (spent !== undefined) say(out, safeLine(spent));
  for (const line of quotaLines(ledger, now)) say(out, line);
}

function writeAll(out: Output, lines: readonly string[]): void {
  for (const line of lines) out.line(line);
}

/** Writes a line, wrapped between words if the terminal is narrow. */
function say(out: Output, text: string, style?: Style): void {
  for (const line of hanging(text, out.width, 2)) out.line(style === undefined ? line : out.style(style, line));
}

/** What a person does in these states. */
const NEEDS: Readonly<Record<string, string>> = {
  approving: "needs you: approve the plan or the result",
  clarifying: "needs you: answer",
};

/** The stored state; a working state without an owner was left by a scheduler that died. */
function standing({ state, outcome }: SessionRow, held: boolean): string {
  if (outcome !== null && state === "closed") return outcome;
  if (held) return NEEDS[state] ?? state;
  const idle = state === "stopped" || state === "waiting" || state === "closed" || state === "paused";
  return idle ? state : "crashed; resume it";
}

/** `is running (pid 3725)`, `is stopped`, `crashed; resume it`. */
function headWords(row: SessionRow, owner: Holder | undefined): string {
  const words = standing(row, owner !== undefined);
  const verb = /^(?:needs|crashed)/.test(words) ? "" : "is ";
  return `${verb}${words}${owner === undefined ? "" : ` (pid ${owner.pid})`}`;
}

/** A session in the list, and its owner or why it cannot be read: one broken lock must not hide all sessions. */
interface ListedSession {
  readonly row: SessionRow;
  readonly owner?: Holder | undefined;
  /** How long ago a running session wrote its last record, in ms of its own time. */
  readonly idle_ms?: number | undefined;
  readonly trouble?: Failure;
}

export interface HomeSession extends ListedSession {
  readonly home: string;
}

/** All sessions, newest first. Reading the owner of a closed one takes time, so it is left out unless `all` is set. */
export function sessionList(store: StoreReader, all: boolean): ListedSession[] {
  const begun = store.sessions({ parent: null }).filter(isBegun);
  return begun.map((row) => {
    if (!all && row.state === "closed") return { row };
    // Read the owner first, so that what it wrote before it left is in the row.
    const found = holderOf(store, row);
    const now = store.session(row.session_id);
    return { row: now.ok ? now.value : row, ...found };
  });
}

export function holderOf(store: StoreReader, { session_id, last_sequence }: SessionRow): Omit<ListedSession, "row"> {
  try {
    const owner = store.holder(session_id);
    if (owner === undefined || last_sequence === 0) return { owner };
    const { received_at } = keptRecord(store, session_id, last_sequence).record;
    return { owner, idle_ms: sessionTime(store, session_id, true) - milliseconds(received_at) };
  } catch (error) {
    if (error instanceof StorageError) return { trouble: error.failure };
    throw error;
  }
}

/** The list as parts of a screen. */
export function listParts(out: Output, sessions: readonly HomeSession[], now: number): Part[] {
  const spans = new Set(sessions.map(({ home }) => home)).size > 1;
  const rows = sessions.map(({ row, owner, idle_ms, trouble }) => [
    row.session_id,
    trouble === undefined ? standing(row, owner !== undefined) : `unknown (${row.state})`,
    formatDuration(idle_ms ?? now - milliseconds(row.updated_at)),
    ...(spans ? [basename(row.workspace)] : []),
    clipped(row.requirement ?? "", PROSE_WIDTH),
  ]);
  const columns = [
    { heading: "SESSION", width: 40 },
    { heading: "STATE", width: 30 },
    { heading: "AGO" },
    ...(spans ? [{ heading: "REPOSITORY", width: 24 }] : []),
    { heading: "WHAT" },
  ];
  const [newest] = sessions;
  const write = (paper: Output) => {
    for (const line of tableLines(columns, rows, paper.width)) paper.line(line);
  };
  const next = (paper: Output) => {
    if (newest !== undefined) tellNext(paper, `bosun status ${newest.row.session_id}`);
  };
  return [
    partOf(out, 1, write, { shorter: (height, lines) => firstLines(lines, height, out.width, "…") }),
    partOf(out, 0, next, { joined: true }),
  ];
}
