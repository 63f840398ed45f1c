import { columnsOf } from "../subject-columns.ts";
import { factsOf, momentOf, outcomeOf, proofWord, roleCells, ticketList, ticketsOf } from "./figures.ts";
import { formatDuration } from "../../lib/durations.ts";
import { safeText } from "../display.ts";
import { markdownCell, markdownText } from "../markdown.ts";
import { mermaidLines } from "../mermaid.ts";
import { proofLines } from "../proof-words.ts";
import { cutText } from "./envelopes.ts";
import type { SessionReport } from "./report-model.ts";

/** The first line of every Markdown report, and of no other file. */
export const MARKDOWN_MARK = "<!-- bosun report -->";

/** Maximum length of a check's output, in characters. */
const LONGEST_OUTPUT = 2_000;

/** A report as Markdown, line by line with line feeds. Untrusted text in it cannot create markup. */
export function* markdownReport(report: SessionReport): IterableIterator<string> {
  const { session } = report;
  const outcome = outcomeOf(report);
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
    ...report.result.map(({ title, text, points }) => [
      `## ${markdownText(title)}`,
      "",
      ...quoted(text),
      "",
      ...points.map((point) => `- ${markdownText(point)}`),
    ]),
    ticketLines(report),
    graphLines(report),
    workLines(report),
    roleLines(report),
    reviewLines(report),
    checkLines(report),
    askedLines(report),
    artifactLines(report),
    proofSection(report),
  ];
  for (const [index, section] of sections.filter((lines) => lines.length > 0).entries()) {
    if (index > 0) yield "\n";
    for (const line of section) yield `${line}\n`;
  }
}

function ticketLines(report: SessionReport): string[] {
  const { list, subjects } = ticketList(report);
  const columns = columnsOf(list);
  const rows = subjects.map((subject) => columns.map(({ cell }) => cell(subject)));
  const headings = columns.map(({ heading }) => heading);
  return table(`What was done`, headings, rows);
}

function graphLines(report: SessionReport): string[] {
  const graph = mermaidLines(report.presentation, ticketsOf(report));
  return graph.length === 0 ? [] : ["## Dependencies", "", "```mermaid", ...graph, "```"];
}

function workLines(report: SessionReport): string[] {
  const told = ticketsOf(report).flatMap(({ id, title, failure }) => {
    const { summary = "", outputs = [], issues = [] } = report.work.get(id) ?? {};
    const lines = [
      ...quoted(summary),
      ...outputs.map((output) => `- ${markdownText(output)}`),
      ...issues.map((issue) => `- issue: ${markdownText(issue)}`),
      ...(failure === undefined ? [] : [`- ${markdownText(failure.code)}: ${markdownText(failure.message)}`]),
    ];
    return lines.length === 0 ? [] : ["", `### ${markdownText(id)}: ${markdownText(title)}`, "", ...lines];
  });
  return told.length === 0 ? [] : ["## What was reported", ...told];
}

function roleLines({ session }: SessionReport): string[] {
  const rows = [...session.roles.values()].map(roleCells);
  return table("Cost and tokens by role", ["role", "type", "turns", "tokens in", "tokens out", "cost"], rows);
}

function reviewLines(report: SessionReport): string[] {
  const reviews = ticketsOf(report).flatMap(({ id, reviews }) => reviews.map((review) => ({ id, ...review })));
  const rows = reviews
    .sort((a, b) => a.sequence - b.sequence)
    .map(({ id, decision, by, text, sequence }) => [id, decision, by, text, String(sequence)]);
  return table("Reviews", ["ticket", "decision", "by", "why", "record"], rows);
}

function checkLines({ checks }: SessionReport): string[] {
  const rows = checks.map(({ ticket_id = "-", criterion, passed, exit_code, duration_ms, sequence }) => [
    ticket_id,
    passed ? "passed" : "**failed**",
    String(exit_code ?? "-"),
    duration_ms === undefined ? "-" : formatDuration(duration_ms),
    criterion,
    String(sequence),
  ]);
  const outputs = checks
    .filter(({ passed, output }) => !passed && output.trim() !== "")
    .flatMap(({ sequence, output }) => [
      "",
      `What the failed check in record ${sequence} printed:`,
      "",
      ...fenced(output),
    ]);
  const lines = table("Checks", ["ticket", "result", "exit", "took", "criterion", "record"], rows, 1);
  return [...lines, ...outputs];
}

function askedLines({ asked }: SessionReport): string[] {
  if (asked.length === 0) return [];
  const lines = asked.map(({ kind, at, text, why, answer }) => {
    const reason = why === "" ? "" : ` (${markdownText(why)})`;
    const answered =
      answer === undefined ? "not answered" : `${markdownText(answer.text)} by ${markdownText(answer.by)}`.trim();
    return `- ${markdownText(momentOf(at))} UTC, ${kind}: ${markdownText(text)}${reason} **${answered}**`;
  });
  return ["## Asked and answered", "", ...lines];
}

function artifactLines(report: SessionReport): string[] {
  const rows = ticketsOf(report).flatMap(({ id, artifacts }) =>
    artifacts.map(({ label, uri, size_bytes }) => [id, label, size_bytes?.toLocaleString("en") ?? "-", uri]),
  );
  return table("Artifacts", ["ticket", "label", "bytes", "path below the home"], rows);
}

function proofSection(report: SessionReport): string[] {
  const { problems } = report.proof;
  return [
    `## Verification: ${proofWord(report).text}`,
    "",
    ...proofLines(report.proof).map(({ name, found, text }) => `- ${name}: ${found}, ${text}`),
    ...problems.map(
      ({ sequence, what }) => `- **${sequence === null ? "folder" : `record ${sequence}`}**: ${markdownText(what)}`,
    ),
  ];
}

/** A table with its heading. Cells of the column `marked` contain our own markup; all others are escaped. */
function table(
  title: string,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  marked = -1,
): string[] {
  if (rows.length === 0) return [];
  const lines = rows.map((row) => row.map((cell, index) => (index === marked ? cell : markdownCell(cell))));
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [`## ${title}`, "", line(headings), line(headings.map(() => "---")), ...lines.map(line)];
}

/** An agent's text as a quote, so that none of its lines can pass for the report's own. */
function quoted(text: string): string[] {
  return text.trim() === "" ? [] : text.split("\n").map((line) => `> ${markdownText(line)}`.trimEnd());
}

/** A text in a code fence that is longer than any fence inside it. */
function fenced(text: string): string[] {
  const safe = safeText(cutText(text.trimEnd(), LONGEST_OUTPUT));
  const longest = Math.max(2, ...[...safe.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return [fence, ...safe.split("\n"), fence];
}
