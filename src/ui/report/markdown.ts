import { changeLines } from "../../kernel/changes.ts";
import { markdownSection, markdownTable } from "../../lib/markdown.ts";
import { safeText } from "../display.ts";
import { markdownCell, markdownText } from "../markdown.ts";
import { mermaidLines } from "../mermaid.ts";
import { cutText } from "./envelopes.ts";
import { ticketsOf } from "./figures.ts";
import type { PageList, PageProof, PageRow } from "./html/page-data.ts";
import type { SessionReport } from "./report-model.ts";
import { shownReport } from "./shown-report.ts";

/** The first line of every Markdown report, and of no other file. */
export const MARKDOWN_MARK = "<!-- bosun report -->";

/** Maximum length of a check's output, in characters. */
const LONGEST_OUTPUT = 2_000;

const escaped = (text: string) => markdownText(text);

/** A report as Markdown, line by line with line feeds. Untrusted text in it cannot create markup. */
export function* markdownReport(report: SessionReport): IterableIterator<string> {
  const { title, session_id, outcome, facts, parts, proof, lists } = shownReport(report);
  const [tickets = [], ...others] = lists.map(listLines);
  const sections = [
    [
      MARKDOWN_MARK,
      `# ${markdownText(title)}`,
      "",
      `Session ${markdownText(session_id)}: **${markdownText(outcome)}**. The log is ${proof.word}.`,
      "",
      ...facts.map(([label, text]) => `- ${label}: ${markdownText(text)}`),
    ],
    ...parts.map((part) =>
      markdownSection(`## ${markdownText(part.title)}`, part.text, part.points.map(escaped), escaped),
    ),
    tickets,
    graphLines(report),
    workLines(report),
    ...others,
    printedLines(report),
    proofSection(proof),
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
  const told = ticketsOf(report).flatMap(({ id, title, cause }) => {
    const { summary = "", outputs = [], issues = [] } = report.work.get(id) ?? {};
    const points = [
      ...outputs,
      ...changeLines(report.session.changes.get(id)).map((line) => `file: ${line}`),
      ...issues.map((issue) => `issue: ${issue}`),
      ...(cause === undefined ? [] : [`why it failed: ${cause.words}`]),
    ];
    const heading = `### ${markdownText(id)}: ${markdownText(title)}`;
    const lines = markdownSection(heading, summary, points.map(escaped), escaped);
    return lines.length === 1 ? [] : ["", ...lines];
  });
  return told.length === 0 ? [] : ["## What was reported", ...told];
}

function printedLines({ checks }: SessionReport): string[] {
  const failed = checks.filter(({ passed, output }) => !passed && output.trim() !== "");
  if (failed.length === 0) return [];
  return [
    "## Output of failed checks",
    ...failed.flatMap(({ sequence, output }) => ["", `Record ${sequence}:`, "", ...fenced(output)]),
  ];
}

function proofSection({ word, lines, problems }: PageProof): string[] {
  return [
    `## Verification: ${word}`,
    "",
    ...lines.map(([, name, text]) => `- ${name}: ${text}`),
    ...problems.map((problem) => `- **${markdownText(problem)}**`),
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
