import { type Presentation, type ResultPart, shownStatus, urgencyOf } from "../kernel/presentation.ts";
import { formatDuration } from "../lib/durations.ts";
import { numberOf } from "../lib/json.ts";
import { resultParts } from "../log/result-parts.ts";
import { spendWords } from "../log/usage-words.ts";
import type { TotalUsage } from "../protocol/payload.ts";
import { widthOf } from "../lib/text-layout.ts";
import { cut } from "../protocol/refusal.ts";
import { type Cause, printedIn } from "./cause.ts";
import { clipped, hanging, safeLine, wrappedLines } from "./display.ts";
import type { Ending, TicketLine } from "./reporter.ts";
import { eventStyle, statusWords } from "./status.ts";
import { columnsOf, type ListedSubject } from "./subject-columns.ts";
import { tableLines } from "./table.ts";
import type { Output, Style, Terminal } from "./terminal.ts";
import { workDoneLines } from "./work-done.ts";
import { type ChildWaiting, holdSentence, linesFor, unheardLines, type Waiting } from "./waiting.ts";
import { counted, localize, nextLines } from "./words.ts";

/** Of more tickets, only the most urgent are shown at the end; `bosun status` shows all. */
const MAX_TICKETS = 40;
const MAX_KEPT = 5;
const MAX_TROUBLES = 40;
/** The first have their last lines. */
const MAX_PRINTED = 5;
const LONGEST_TROUBLE = 1000;
/** Of what an agent or a check printed, for the first. */
const LINES_PRINTED = 5;

/** Shows the failure that ended a session, if there is one, and the last lines. */
export function showEnding({ out, err }: Pick<Terminal, "out" | "err">, ending: Ending, resumed?: boolean): void {
  if (ending.failure) for (const text of wrappedLines(ending.failure.message, err.width, 0)) err.line(text);
  for (const text of endingLines(out, ending, resumed)) out.line(text);
}

/** The last lines of a command that ran a session: its tickets, how it ended, where its files are, and what to type next. */
export function endingLines(output: Output, ending: Ending, resumed = false): string[] {
  const { presentation } = ending;
  const lines = [""];
  const many = ending.tickets.length > MAX_TICKETS;
  if (many) lines.push(...shortTicketTable(presentation, ending.tickets, output, MAX_TICKETS + 2), "");
  else if (ending.tickets.length > 0) lines.push(...ticketTable(presentation, ending.tickets, output), "");
  const style = headlineStyle(ending);
  lines.push(...hanging(headline(ending, resumed), output.width, 2).map((line) => output.style(style, line)));
  lines.push(...causeLines(ending, output));
  const spent = spendWords((ending.usage as Partial<TotalUsage>).by_role);
  if (spent !== undefined) lines.push(...hanging(safeLine(spent), output.width, 2));
  if (ending.message !== undefined && ending.cause === undefined)
    lines.push(...wrappedLines(localize(output, ending.message), output.width, 0));
  lines.push(...interruptedLines(output, ending.interrupted_turns));
  lines.push(...unheardLines(output, ending.unheard));
  if (ending.result) lines.push(...resultLines(resultParts(presentation, ending.result, ending), output));
  const needed = [
    ...ending.waiting.map((waiting) => linesFor(waiting, output)),
    ...ending.children.flatMap((child) => childLines(child, output)),
  ];
  if (needed.length > 0) {
    lines.push("", "To decide:");
    for (const [words, ...details] of needed) {
      const [first = "", ...more] = hanging(words, output.width, 4);
      lines.push(`  ${output.style("yellow", "?")} ${first}`, ...more);
      lines.push(...details.flatMap((detail) => wrappedLines(detail, output.width, 6)));
    }
  }
  if (ending.outcome !== undefined)
    lines.push(...workDoneLines(ending.tickets.map(asListed), presentation.subjectName, output));
  if (ending.where !== undefined) lines.push("", ...hanging(safeLine(ending.where), output.width, 2));
  lines.push("");
  if (ending.report !== undefined) lines.push(...pathLines("report", ending.report, output));
  lines.push(...keptLines(output, ending), ...pathLines("log", ending.log, output));
  return [...lines, ...nextLines(output, ending.next)];
}

/** Where a file is: its path is for copying, so it gets a line of its own if it does not fit. */
function pathLines(what: string, path: string, { width }: Pick<Output, "width">): string[] {
  const line = `${what.padEnd(7)} ${safeLine(path)}`;
  return widthOf(line) <= width ? [line] : [what, `  ${safeLine(path)}`];
}

/** The last kept files, because the tickets at the end of a plan sum up the others. */
function keptLines(output: Output, { session_id, kept }: Ending): string[] {
  const shown = kept.slice(-MAX_KEPT).map((file, index) => `${index === 0 ? "kept  " : "      "}  ${safeLine(file)}`);
  const hidden = kept.length - shown.length;
  if (hidden === 0) return shown;
  return [...shown, output.style("dim", `        and ${hidden} more: ${localize(output, `bosun log ${session_id}`)}`)];
}

/** Where lines are shown. */
type Page = Pick<Output, "program" | "anywhere" | "width" | "style">;

/** Why the session stopped, and why the first tickets failed, each with what was printed last. */
export function causeLines(
  { presentation, cause, tickets }: Pick<Ending, "presentation" | "cause" | "tickets">,
  output: Page,
): string[] {
  const failed = tickets.filter((ticket) => ticket.cause !== undefined);
  const hidden = failed.length - MAX_TROUBLES;
  return [
    ...linesOfCause(`The ${cause?.role_id ?? "manager"} failed`, cause, output),
    ...failed.slice(0, MAX_TROUBLES).flatMap((ticket, index) => {
      const tries = ticket.attempt > 1 ? ` (try ${ticket.attempt})` : "";
      return linesOfCause(`${ticket.ticket_id} failed${tries}`, ticket.cause, output, index < MAX_PRINTED);
    }),
    ...(hidden > 0 ? [output.style("dim", `and ${counted(hidden, `other ${presentation.subjectName}`)} failed`)] : []),
  ];
}

function linesOfCause(what: string, cause: Cause | undefined, output: Page, isWhole = true): string[] {
  if (cause === undefined) return [];
  return [
    ...hanging(`${what}: ${safeLine(cut(cause.words, LONGEST_TROUBLE))}`, output.width, 2),
    ...printedIn(cause, isWhole ? LINES_PRINTED : 0).map((line) =>
      output.style("dim", `  | ${clipped(line, output.width - 4)}`),
    ),
    ...(cause.hint === undefined ? [] : hanging(localize(output, safeLine(cause.hint)), output.width, 2)),
  ];
}

function childLines({ session_id, waiting, holds }: ChildWaiting, output: Output): [string, ...string[]][] {
  const needed = [
    ...waiting.map((one) => linesFor(one, output)),
    ...holds.map((hold): [string] => [safeLine(holdSentence(hold))]),
  ];
  return needed.map(([words, ...details]) => [`${session_id}: ${words}`, ...details]);
}

/** The most urgent tickets, in the plan's order, and the number of others in each state, in at most `rows` rows. */
export function shortTicketTable(
  presentation: Presentation,
  tickets: readonly TicketLine[],
  output: Output,
  rows: number,
): string[] {
  const [heading = ""] = ticketTable(presentation, tickets, output);
  const many = Math.floor((rows - 1) / heading.split("\n").length) - 1;
  if (many < 1) return [];
  const byUrgency = tickets.toSorted((one, other) => urgency(presentation, one) - urgency(presentation, other));
  const first = new Set(byUrgency.slice(0, many));
  const others = Map.groupBy(byUrgency.slice(many), ({ status }) => status);
  const counts = [...others].map(([status, { length }]) => `${length} ${statusWords(status)}`).join(", ");
  const shown = ticketTable(
    presentation,
    tickets.filter((ticket) => first.has(ticket)),
    output,
  );
  return [...shown.flatMap((line) => line.split("\n")), output.style("dim", clipped(`and ${counts}`, output.width))];
}

function urgency(presentation: Presentation, { status, interrupted }: TicketLine): number {
  return interrupted === true ? -1 : urgencyOf(presentation, status);
}

/** A table of tickets in the plan's order, coloured by their states. */
export function ticketTable(presentation: Presentation, tickets: readonly TicketLine[], output: Output): string[] {
  const columns = columnsOf({ name: "table", presentation });
  const rows = tickets.map((ticket) => columns.map(({ cell }) => cell(asListed(ticket))));
  const [heading = "", ...lines] = tableLines(columns, rows, output.width);
  return [
    output.style("dim", heading),
    ...lines.map((line, index) => {
      const { status = "", interrupted } = tickets[index] ?? {};
      const style = interrupted === true ? "yellow" : eventStyle(presentation, status);
      return style ? output.style(style, line) : line;
    }),
  ];
}

export function asListed(ticket: TicketLine): ListedSubject {
  return { ...ticket, id: ticket.ticket_id };
}

/** The result of a mode without tickets. */
export function resultLines(parts: readonly ResultPart[], output: Output): string[] {
  return parts.flatMap(({ title, text, points }) => [
    "",
    output.style("bold", safeLine(title)),
    ...wrappedLines(text, output.width, 2),
    ...points.flatMap((point) =>
      hanging(`- ${point}`, output.width, 4).map((line, index) => (index === 0 ? `  ${line}` : line)),
    ),
  ]);
}

/** What needs a person, in the session and then in its child sessions, each with the id of its session. */
export function needsOf({ session_id, waiting, children }: Ending): (readonly [session_id: string, Waiting])[] {
  const sessions = [{ session_id, waiting }, ...children];
  return sessions.flatMap((one) => one.waiting.map((need) => [one.session_id, need] as const));
}

/** The line about interrupted turns, if there are any. */
export function interruptedLines({ width }: Pick<Output, "width">, turns: number): string[] {
  if (turns === 0) return [];
  const text =
    turns === 1 ? "1 turn was cut off; resume repeats it." : `${turns} turns were cut off; resume repeats them.`;
  return wrappedLines(text, width, 0);
}

/** The session's outcome or state, and its figures. After a resume the time is since then; the other figures are for the whole session. */
export function headline(ending: Ending, resumed = false): string {
  const { presentation, tickets, usage, elapsed_ms } = ending;
  const done = tickets.filter(({ status }) => shownStatus(presentation, status).stage === "done").length;
  const figures = [
    ...(tickets.length > 0 && presentation.statementName === undefined
      ? [`${done} of ${counted(tickets.length, presentation.subjectName)} done`]
      : []),
    counted(numberOf(usage.turns), "turn"),
    ...costOf(ending),
    ...(elapsed_ms === undefined ? [] : [`${formatDuration(elapsed_ms)}${resumed ? " since resume" : ""}`]),
  ];
  return `${sessionState(ending)}: ${figures.join(", ")}`;
}

/** `s-1 is done`. */
export function sessionState({ session_id, state, outcome, failure }: Ending): string {
  return `${session_id} ${failure ? "was left" : "is"} ${outcome ?? state}`;
}

function headlineStyle({ outcome }: Ending): Style {
  if (outcome === "done") return "green";
  return outcome === undefined ? "yellow" : "red";
}

function costOf({ usage, free }: Ending): string[] {
  const cost = usage.cost_usd;
  if (typeof cost === "number") return free && cost === 0 ? [] : [`$${cost.toFixed(2)}`];
  return free ? [] : ["cost unknown"];
}
