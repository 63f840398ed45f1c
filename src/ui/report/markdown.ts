import { markdownSection, markdownTable } from "../../lib/markdown.ts";
import { safeText } from "../display.ts";
import { markdownCell, markdownText } from "../markdown.ts";
import { mermaidLines } from "../mermaid.ts";
import { problemLines, proofLines } from "../proof-words.ts";
import { cutText } from "./envelopes.ts";
import { factsOf, outcomeOf, proofWord, ticketsOf } from "./figures.ts";
import type { PageList, PageRow } from "./html/page-data.ts";
import { listsOf } from "./lists.ts";
import type { SessionReport } from "./report-model.ts";

/** The first line of every Markdown report, and of no other file. */
export const MARKDOWN_MARK = "<!-- bosun report -->";

/** Maximum length of a check's output, in characters. */
const LONGEST_OUTPUT = 2_000;

const escaped = (text: string) => markdownText(text);

/** A report as Markdown, line by line with line feeds. Untrusted text in it cannot create markup. */
export function* markdownReport(report: SessionReport): IterableIterator<string> {
  const { session } = report;
  const outcome = outcomeOf(report);
  const [tickets = [], ...lists] = listsOf(report).map(listLines);
  const head = [
    MARKDOWN_MARK,
    `# ${markdownText(session.requirement) || markdownText(session.session_id)}`,
    "",
    `Session ${markdownText(session.session_id)}: **${markdownText(outcome.text)}**. The log is ${proofWord(report).text}.`,
    "",
    ...factsOf(report).map(([label, text]) => `- ${label}: ${markdownText(text)}`),
  ];
  const sections = [
    head,
    ...report.result.map(({ title, text, points }) =>
      markdownSection(`## ${markdownText(title)}`, text, points.map(escaped), escaped),
    ),
    tickets,
    graphLines(report),
    workLines(report),
    ...lists,
    printedLines(report),
    proofSection(report),
  ];
  for (const [index, section] of sections.filter((lines) => lines.length > 0).entries()) {
    if (index > 0) yield "\n";
    for (const line of section) yield `${line}\n`;
  }
}

function graphLines(report: SessionReport): string[] {
  const graph = mermaidLines(report.presentation, ticketsOf(report));
  return graph.length === 0 ? [] : ["## Dependencies", "", "```mermaid", ...graph, "```"];
}

function workLines(report: SessionReport): string[] {
  const told = ticketsOf(report).flatMap(({ id, title, failure }) => {
    const { summary = "", outputs = [], issues = [] } = report.work.get(id) ?? {};
    const points = [
      ...outputs,
      ...issues.map((issue) => `issue: ${issue}`),
      ...(failure === undefined ? [] : [`${failure.code}: ${failure.message}`]),
    ];
    const heading = `### ${markdownText(id)}: ${markdownText(title)}`;
    const lines = markdownSection(heading, summary, points.map(escaped), escaped);
    return lines.length === 1 ? [] : ["", ...lines];
  });
  return told.length === 0 ? [] : ["## What was reported", ...told];
}

/** What failed checks printed. */
function printedLines({ checks }: SessionReport): string[] {
  const failed = checks.filter(({ passed, output }) => !passed && output.trim() !== "");
  if (failed.length === 0) return [];
  return [
    "## Output of failed checks",
    ...failed.flatMap(({ sequence, output }) => ["", `Record ${sequence}:`, "", ...fenced(output)]),
  ];
}

function proofSection(report: SessionReport): string[] {
  return [
    `## Verification: ${proofWord(report).text}`,
    "",
    ...proofLines(report.proof).map(({ name, found, text }) => `- ${name}: ${found}, ${text}`),
    ...problemLines(report.proof).map((problem) => `- **${markdownText(problem)}**`),
  ];
}

function listLines({ title, columns, rows }: PageList): string[] {
  if (rows.length === 0) return [];
  const cellsOf = ({ cells, tone }: PageRow) =>
    cells.map((cell, index) => {
      const text = markdownCell(cell);
      return tone === "bad" && columns[index]?.toned === true ? `**${text}**` : text;
    });
  return [`## ${title}`, "", ...markdownTable(columns, rows, cellsOf)];
}

/** A text in a code fence that is longer than any fence inside it. */
function fenced(text: string): string[] {
  const safe = safeText(cutText(text.trimEnd(), LONGEST_OUTPUT));
  const longest = Math.max(2, ...[...safe.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return [fence, ...safe.split("\n"), fence];
}
