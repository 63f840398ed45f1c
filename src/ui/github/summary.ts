import { hasTold, spentWords } from "../../log/usage-words.ts";
import { safeLine } from "../display.ts";
import { headline, needsOf, sessionState, stateOf } from "../ending.ts";
import { markdownCell, markdownCode, markdownText } from "../markdown.ts";
import { mermaidLines } from "../mermaid.ts";
import type { Ending, TicketLine } from "../reporter.ts";
import type { Output } from "../terminal.ts";
import { commandFor, sentenceFor } from "../waiting.ts";
import { counted, localize } from "../words.ts";

/** With more rows, the summary of a job is too long for GitHub. */
const MAX_TICKETS = 200;

const TEXT_WIDTH = 400;
const CELL_WIDTH = 120;
const NAME_WIDTH = 60;

const ICONS: ReadonlyMap<string, string> = new Map([
  ["done", "✅"],
  ["error", "❌"],
  ["blocked", "⛔"],
  ["pending", "⏳"],
]);

/** How a session was left, as Markdown for the summary of a GitHub job. Ends with a line break. */
export function summaryMarkdown(naming: Pick<Output, "program" | "anywhere">, ending: Ending, resumed = false): string {
  const { session_id, message, failure, tickets, next, report, log } = ending;
  const needs = needsOf(ending);
  const decide = needs.map(([, one]) => `- ${markdownText(sentenceFor(one), TEXT_WIDTH)}`);
  const answers = needs.map(([id, one]) => commandFor(id, one));
  const commands = [...answers, ...next.filter((command) => !answers.includes(command))];
  const graph = mermaidLines(
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
  const { subjectName, statementName } = presentation;
  const hidden = tickets.length - MAX_TICKETS;
  return [
    "",
    `| ${[subjectName, "state", "owner", "attempts", "used", statementName ?? "what"].join(" | ")} |`,
    "|---|---|---|--:|---|---|",
    ...tickets.slice(0, MAX_TICKETS).map(rowOf),
    ...(hidden > 0 ? ["", `and ${counted(hidden, `more ${subjectName}`)}`] : []),
  ];
}

function rowOf(ticket: TicketLine): string {
  const { ticket_id, status, owner = "-", attempt, usage, title, said = "" } = ticket;
  const what = said === "" ? title : `${title}: ${said}`;
  const cells = [
    markdownCode(ticket_id, NAME_WIDTH),
    `${ICONS.get(status) ?? "▶️"} ${markdownText(stateOf(ticket), CELL_WIDTH)}`,
    markdownCell(owner, NAME_WIDTH),
    String(attempt),
    usage !== undefined && hasTold(usage) ? markdownText(spentWords(usage), CELL_WIDTH) : "-",
    markdownCell(what, CELL_WIDTH),
  ];
  return `| ${cells.join(" | ")} |`;
}
