import { type Presentation, shownStatus, statusesOf } from "../kernel/presentation.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { UNAVAILABLE } from "../kernel/outages.ts";
import { briefWords, totalWords } from "../log/usage-words.ts";
import type { Standing } from "../runtime/feed/standing.ts";
import { clipped, hanging, safeLine, wrapped } from "./display.ts";
import { showEnding } from "./ending.ts";
import { LiveLine } from "./live-line.ts";
import { PendingProgress, PROGRESS_MS } from "./progress.ts";
import { HEARTBEAT_MS, type Opening, type Reporter } from "./reporter.ts";
import { RecordFormatter } from "./record-formatter.ts";
import { BRIEF, type RecordLine } from "./record-event.ts";
import { stoppingWords } from "./stopping.ts";
import type { Style, Terminal } from "./terminal.ts";
import { TICKET_WIDTH, timelineLines } from "./timeline.ts";
import { TurnLines } from "./turn-lines.ts";
import { showHolds, showWaiting } from "./waiting.ts";
import { counted, localize, runningWords } from "./words.ts";
import { heldWords } from "./hold-words.ts";
import { statusWords } from "./status.ts";

/** Prints a line for everything that happens, for plain terminals, pipes, logs and automatic builds. */
export function plainReporter({ out, err, canRedraw }: Pick<Terminal, "out" | "err" | "canRedraw">): Reporter {
  let opening: Opening | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let progressTimer: NodeJS.Timeout | undefined;
  let live: LiveLine | undefined;
  const closeLive = () => {
    live?.close();
    live = undefined;
  };
  const formatter = new RecordFormatter();
  const progress = new PendingProgress();
  const turns = new TurnLines();

  const tell = (at: Date, told: RecordLine) => {
    // An infinite width means no terminal, so nothing is cut.
    const isCut = told.ticket !== undefined && out.width !== Number.POSITIVE_INFINITY;
    const shown = isCut ? { ...told, ticket: clipped(told.ticket, TICKET_WIDTH) } : told;
    for (const text of timelineLines(out, at, shown, opening?.session_id ?? "-")) out.line(text);
    heartbeat?.refresh();
  };
  const head = (style: Style, words: string, command?: string) => {
    const typed = command === undefined ? undefined : localize(out, command);
    for (const text of hanging(words, out.width, 2, typed)) out.line(out.style(style, text));
  };
  const time = () => opening?.time() ?? 0;
  const line = (text: string, ticket?: string, style?: Style) => tell(new Date(time()), { ticket, text, style });

  const standing = () => {
    const now = opening?.now();
    if (now === undefined) return "";
    return standingWords(now, time());
  };

  const tellTurn = (event: Parameters<TurnLines["tell"]>[0]) => {
    const now = time();
    const since = formatter.since(event.turn_id);
    const known = { session_id: opening?.session_id ?? "-", now, since, width: out.width };
    for (const told of turns.tell(event, known)) tell(new Date(now), told);
  };

  const tellRecord = (record: UnsealedRecord) => {
    progress.note(record);
    const presentation = opening?.presentation();
    const isFinish = record.record.effects?.some(({ to }) => shownStatus(presentation, to).stage === "done");
    const done =
      opening && isFinish && isOfWork(presentation) ? `(${doneOf(opening.counts(), presentation)})` : undefined;
    const telling = { ...BRIEF, output: opening?.output, presentation, done };
    for (const told of formatter.format(record, telling)) tell(new Date(record.record.received_at), told);
  };

  const tellStopping = (event: Parameters<typeof stoppingWords>[0]) => {
    const words = stoppingWords(event, opening);
    if (words !== undefined) err.line(words);
  };

  return {
    begin(begun) {
      opening = begun;
      for (const record of begun.earlier) {
        formatter.format(record, BRIEF);
        progress.note(record);
      }
      formatter.begin(begun.now().held);
      const { session_id, requirement, resumed, closed } = begun;
      const words = requirement === undefined ? "" : `: ${clipped(requirement, 100)}`;
      head("bold", `${resumed && closed !== true ? "Going on with" : "Session"} ${session_id}${words}`);
      for (const [text, command] of whereWords(begun)) head("dim", text, command);
      const skipped = begun.elsewhere?.skipped ?? 0;
      if (skipped > 0) {
        head("dim", `${counted(skipped, "earlier record")}:`, `bosun log ${session_id}`);
        line(standing());
      }
      heartbeat = setInterval(() => line(`HEARTBEAT ${standing()}`), HEARTBEAT_MS).unref();
      if (canRedraw && begun.closed !== true)
        live = new LiveLine(out, () => summaryWords(begun.now(), begun.presentation()));
      progressTimer = setInterval(() => {
        for (const { at, line: told } of progress.take()) tell(at, told);
      }, PROGRESS_MS).unref();
    },
    event(event) {
      live?.touch();
      if (event.kind === "record") tellRecord(event.record);
      else if ("turn_id" in event) tellTurn(event);
      else if (event.kind === "stopping") tellStopping(event);
      else if (event.kind === "warning")
        for (const text of wrapped(`Warning: ${event.text}`, err.width, 0)) err.line(text);
    },
    asked(waiting) {
      line("WAITS FOR A PERSON", "ticket_id" in waiting ? waiting.ticket_id : undefined, "yellow");
      showWaiting(out, opening?.session_id ?? "", waiting);
    },
    childWaits({ session_id, waiting, holds }) {
      line(`${session_id} WAITS FOR A PERSON`, undefined, "yellow");
      for (const one of waiting) showWaiting(out, session_id, one);
      showHolds(out, session_id, holds);
    },
    end(ending) {
      closeLive();
      showEnding({ out, err }, ending, opening?.resumed);
    },
    close() {
      closeLive();
      clearInterval(heartbeat);
      clearInterval(progressTimer);
    },
  };
}

/** Where the session works, and what happens to it without this terminal, each with the command to type. */
function whereWords({ session_id, workspace, elsewhere }: Opening): [words: string, command?: string][] {
  if (elsewhere === undefined) return [[`in ${safeLine(workspace)}`]];
  const ctrl_c =
    elsewhere.ctrl_c === "stops"
      ? "stops it, closing this terminal does not"
      : "detaches, and the session continues to run";
  return [[`in ${safeLine(workspace)}`], [`Ctrl-C ${ctrl_c}:`, `bosun attach ${session_id}`]];
}

/** `7/20`: how many subjects are done. */
function doneOf(counts: Standing["counts"], presentation: Presentation | undefined): string {
  return `${sumOf(counts, statusesOf(presentation, "done"))}/${allOf(counts)}`;
}

/** Whether subjects do work. Those that state something are never done. */
function isOfWork(presentation: Presentation | undefined): boolean {
  return presentation !== undefined && presentation.statementName === undefined;
}

function sumOf(counts: Standing["counts"], statuses: readonly string[]): number {
  return statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}

function statesOf(counts: Standing["counts"]): string[] {
  return Object.entries(counts).flatMap(([status, count]) => (count > 0 ? [`${count} ${statusWords(status)}`] : []));
}

function allOf(counts: Standing["counts"]): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** A session's standing in one line: which role works on what and for how long, running checks, held roles, and the counts. */
function standingWords(
  { state, counts, turns, waiting, usage, running, checking, held }: Standing,
  now: number,
): string {
  const states = statesOf(counts);
  return [
    `${state}: ${runningWords(running, now) || "no agent"}`,
    ...(checking.length > 0 ? [`checking ${checking.join(", ")}`] : []),
    ...(held.length > 0 ? [`held: ${heldWords(held).join(", ")}`] : []),
    ...(states.length > 0 ? [states.join(", ")] : []),
    counted(turns, "turn"),
    ...totalWords(usage),
    ...(waiting > 0 ? [`${counted(waiting, "answer")} awaited`] : []),
  ].join("; ");
}

/** A short summary, the most important parts first: `7/20 done · 6 at work · 1 needs you · $1.20`. */
export function summaryWords(
  { state, counts, waiting, usage, running, checking, held }: Standing,
  presentation: Presentation | undefined,
): string {
  const { outages = [], others = [] } = Object.groupBy(held, ({ reason }) =>
    reason === UNAVAILABLE ? "outages" : "others",
  );
  const busy = running.length + checking.length;
  const errors = sumOf(counts, statusesOf(presentation, "failed"));
  return [
    ...(state === "paused" ? [state] : []),
    ...(isOfWork(presentation) && allOf(counts) > 0 ? [`${doneOf(counts, presentation)} done`] : statesOf(counts)),
    ...(busy > 0 ? [`${busy} at work`] : []),
    ...(waiting > 0 ? [waiting === 1 ? "1 needs you" : `${waiting} need you`] : []),
    ...(errors > 0 ? [`${errors} failed`] : []),
    ...heldWords(outages),
    ...(others.length > 0 ? [`${others.length} held`] : []),
    ...briefWords(usage),
  ].join(" · ");
}
