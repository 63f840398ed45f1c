import { appendFileSync } from "node:fs";
import { type Presentation, shownStatus, type Tone } from "../kernel/presentation.ts";
import { markdownTable } from "../lib/markdown.ts";
import { printedIn } from "./cause.ts";
import { safeLine, safeText } from "./display.ts";
import { asListed, headline, needsOf, sessionState } from "./ending.ts";
import { columnsOf, type ListedSubject, type SubjectColumn } from "./subject-columns.ts";
import { markdownCell, markdownCode, markdownText } from "./markdown.ts";
import { mermaidLines } from "./mermaid.ts";
import { plainReporter } from "./plain.ts";
import type { Ending, Opening, Reporter, TicketLine } from "./reporter.ts";
import type { Output, Terminal } from "./terminal.ts";
import { commandFor, sentenceFor, type Waiting } from "./waiting.ts";
import { counted, localize } from "./words.ts";

/**
 * The plain reporter for the log of a GitHub job: events are in a group, what needs a person is an annotation, and the ending is appended to
 * `summary`, the file of the step's summary, if there is one. In a job, a terminal writes no other text as a workflow command.
 */
export function githubReporter(terminal: Pick<Terminal, "out" | "err">, summary: string | undefined): Reporter {
  const { out } = terminal;
  const plain = plainReporter({ ...terminal, canRedraw: false });
  let opening: Opening | undefined;
  let isGroupOpen = false;
  const endGroup = () => {
    if (isGroupOpen) out.command(END_GROUP);
    isGroupOpen = false;
  };
  const summarize = (ending: Ending) => {
    if (summary === undefined) return;
    try {
      appendFileSync(summary, summaryMarkdown(out, ending, opening?.resumed));
    } catch (error) {
      out.command(annotation("warning", "Bosun", `The summary cannot be written: ${String(error)}`));
    }
  };
  return {
    ...plain,
    begin(begun) {
      opening = begun;
      plain.begin(begun);
      out.command(beginGroup(`What happens in ${begun.session_id}`));
      isGroupOpen = true;
    },
    event(event) {
      if (event.kind === "warning") out.command(annotation("warning", opening?.session_id ?? "Bosun", event.text));
      else plain.event(event);
    },
    end(ending) {
      endGroup();
      plain.end(ending);
      for (const line of annotationsFor(out, ending)) out.command(line);
      summarize(ending);
    },
    close() {
      plain.close();
      endGroup();
    },
  };
}

/** Maximum number of annotations of a level that GitHub shows for a step. */
const MAX_ANNOTATIONS = 10;

type Naming = Pick<Output, "program" | "anywhere">;

type Level = "error" | "warning" | "notice";

/** A line that makes GitHub show an annotation: `::error title=…::…`. Both texts may be untrusted. */
export function annotation(level: Level, title: string, text: string): string {
  return `::${level} title=${escapedProperty(title)}::${escapedData(text)}`;
}

/** A line that begins a collapsible group in the log. */
export function beginGroup(title: string): string {
  return `::group::${escapedData(title)}`;
}

const END_GROUP = "::endgroup::";

function escapedData(text: string): string {
  return safeText(text).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** The annotations for how a session was left: what ended it, its tickets in error, and what waits for a person. */
export function annotationsFor(naming: Naming, ending: Ending): string[] {
  const { session_id, presentation, tickets, failure, cause, outcome } = ending;
  const message = cause === undefined ? ending.message : `The ${cause.role_id} failed: ${cause.words}`;
  const failed = tickets.filter(({ status }) => shownStatus(presentation, status).stage === "failed");
  const needs = needsOf(ending);
  const troubles = [
    ...(failure ? [annotation("error", session_id, failure.message)] : []),
    ...failed.map((ticket) => ticketAnnotation(naming, session_id, presentation.subjectName, ticket)),
  ];
  const stopped = outcome === undefined && failure === undefined && message !== undefined;
  return [
    ...troubles.slice(0, MAX_ANNOTATIONS),
    ...needs.slice(0, MAX_ANNOTATIONS).map(([id, one]) => needAnnotation(naming, id, one)),
    ...(stopped ? [annotation("notice", sessionState(ending), localize(naming, message))] : []),
  ];
}

/** Of what an agent or a check printed last. */
const LINES_PRINTED = 5;

function ticketAnnotation(
  naming: Naming,
  session_id: string,
  subject: string,
  { ticket_id, reason, spent, cause }: TicketLine,
): string {
  const why =
    cause === undefined
      ? [reason, spent].filter(Boolean).join(", ")
      : [cause.words, ...printedIn(cause, LINES_PRINTED)].join("\n");
  const log = localize(naming, `bosun log ${session_id} ${ticket_id}`);
  return annotation("error", `${session_id}: ${subject} ${ticket_id} failed`, [why, log].filter(Boolean).join("\n"));
}

function needAnnotation(naming: Naming, session_id: string, waiting: Waiting): string {
  const command = localize(naming, commandFor(session_id, waiting));
  return annotation("warning", `${session_id} needs a person`, `${sentenceFor(waiting)}\n${command}`);
}

/** With more rows, the summary of a job is too long for GitHub. */
const MAX_TICKETS = 200;

const TEXT_WIDTH = 400;
const CELL_WIDTH = 120;
const NAME_WIDTH = 60;

const ICONS: Readonly<Record<Tone, string>> = { good: "✅", bad: "❌", warn: "⛔", quiet: "⏳", busy: "▶️", plain: "▶️" };

/** How a session was left, as Markdown for the summary of a GitHub job. Ends with a line break. */
export function summaryMarkdown(naming: Naming, ending: Ending, resumed = false): string {
  const { session_id, presentation, message, failure, tickets, next, report, log } = ending;
  const needs = needsOf(ending);
  const decide = needs.map(([, one]) => `- ${markdownText(sentenceFor(one), TEXT_WIDTH)}`);
  const answers = needs.map(([id, one]) => commandFor(id, one));
  const commands = [...answers, ...next.filter((command) => !answers.includes(command))];
  const graph = mermaidLines(
    presentation,
    tickets.map(({ ticket_id: id, status, dependencies: depends_on = [] }) => ({ id, status, depends_on })),
  );
  const page = localize(naming, `bosun report ${session_id} --html report.html`);
  const texts = [failure?.message, message].filter((text) => text !== undefined);
  const lines = [
    `## Bosun: ${markdownText(sessionState(ending), NAME_WIDTH)}`,
    "",
    markdownText(headline(ending, resumed), TEXT_WIDTH),
    ...texts.flatMap((text) => ["", markdownText(localize(naming, text), TEXT_WIDTH)]),
    ...tableLines(ending),
    ...(graph.length > 0 ? ["", "```mermaid", ...graph, "```"] : []),
    ...(decide.length > 0 ? ["", "### To decide", "", ...decide] : []),
    ...(commands.length > 0
      ? ["", "### Next", "", "```sh", ...commands.map((command) => safeLine(localize(naming, command))), "```"]
      : []),
    "",
    `The record is in ${markdownCode(log, TEXT_WIDTH)}${report === undefined ? "" : `, the report in ${markdownCode(report, TEXT_WIDTH)}`}.`,
    `Keep its home as an artifact or in a cache, so that a later job can resume. For the whole report: ${markdownCode(page, TEXT_WIDTH)}.`,
    "",
  ];
  return `${lines.join("\n")}\n`;
}

function tableLines({ presentation, tickets }: Ending): string[] {
  if (tickets.length === 0) return [];
  const columns = columnsOf({ name: "summary", presentation });
  const hidden = tickets.length - MAX_TICKETS;
  const rows = tickets.slice(0, MAX_TICKETS).map(asListed);
  return [
    "",
    ...markdownTable(columns, rows, (row) => columns.map((column) => cellOf(presentation, column, row))),
    ...(hidden > 0 ? ["", `and ${counted(hidden, `more ${presentation.subjectName}`)}`] : []),
  ];
}

function cellOf(presentation: Presentation, { cell, toned }: SubjectColumn, row: ListedSubject): string {
  const text = markdownCell(cell(row), CELL_WIDTH);
  return toned === true ? `${ICONS[shownStatus(presentation, row.status).tone]} ${text}` : text;
}
