import { formatDuration } from "../../lib/durations.ts";
import { short } from "../../log/usage-words.ts";
import { safeLine, safeText } from "../display.ts";
import { proofLines } from "../proof-words.ts";
import { cutText } from "./envelopes.ts";
import { costOf, factsOf, momentOf, outcomeOf, stateWords, ticketsOf, timeOf, triesOf, proofWord } from "./figures.ts";
import type { SessionReport } from "./report-model.ts";

/** The first line of every Markdown report, and of no other file. */
export const MARKDOWN_MARK = "<!-- bosun report -->";

/** Maximum length of a check's output, in characters. */
const LONGEST_OUTPUT = 2_000;

/** A larger graph is not drawn, because nobody could read it. */
const MAX_NODES = 60;

/** A report as Markdown, line by line with line feeds. Untrusted text in it cannot create markup. */
export function* markdownReport(report: SessionReport): IterableIterator<string> {
  const { session } = report;
  const outcome = outcomeOf(report);
  const head = [
    MARKDOWN_MARK,
    `# ${plain(session.requirement) || plain(session.session_id)}`,
    "",
    `Session ${plain(session.session_id)}: **${plain(outcome.text)}**. The log is ${proofWord(report).text}.`,
    "",
    ...factsOf(report).map(([label, text]) => `- ${label}: ${plain(text)}`),
  ];
  const sections = [
    head,
    ...report.result.map(({ title, text, points }) => [
      `## ${plain(title)}`,
      "",
      ...quoted(text),
      "",
      ...points.map((point) => `- ${plain(point)}`),
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

function ticketLines({ session, subjectName, to }: SessionReport): string[] {
  const rows = ticketsOf(session).map((ticket) => [
    ticket.id,
    stateWords(ticket),
    ticket.owner ?? "-",
    triesOf(ticket),
    timeOf(ticket, to),
    ticket.spend.cost_usd > 0 ? costOf(ticket.spend) : "-",
    ticket.title,
  ]);
  return table(`What was done`, [subjectName, "state", "by", "try", "time", "cost", "what"], rows);
}

/** The dependency graph as Mermaid text, which GitHub and others render. */
function graphLines({ session }: SessionReport): string[] {
  const tickets = ticketsOf(session);
  const places = new Map(tickets.map(({ id }, index) => [id, index]));
  const edges = tickets.flatMap(({ depends_on }, index) =>
    depends_on.flatMap((before) => (places.has(before) ? [`  n${places.get(before)} --> n${index}`] : [])),
  );
  if (edges.length === 0 || tickets.length > MAX_NODES) return [];
  const nodes = tickets.map(({ id }, index) => `  n${index}["${id.replace(/[^\w .-]/g, "_")}"]`);
  return ["## Dependencies", "", "```mermaid", "graph LR", ...nodes, ...edges, "```"];
}

function workLines({ session, work }: SessionReport): string[] {
  const told = ticketsOf(session).flatMap(({ id, title, failure }) => {
    const { summary = "", outputs = [], issues = [] } = work.get(id) ?? {};
    const lines = [
      ...quoted(summary),
      ...outputs.map((output) => `- ${plain(output)}`),
      ...issues.map((issue) => `- issue: ${plain(issue)}`),
      ...(failure === undefined ? [] : [`- ${plain(failure.code)}: ${plain(failure.message)}`]),
    ];
    return lines.length === 0 ? [] : ["", `### ${plain(id)}: ${plain(title)}`, "", ...lines];
  });
  return told.length === 0 ? [] : ["## What was reported", ...told];
}

function roleLines({ session }: SessionReport): string[] {
  const rows = [...session.roles.values()].map(({ role_id, type, spend }) => [
    role_id,
    type,
    String(spend.turns),
    short(spend.input_tokens),
    short(spend.output_tokens),
    costOf(spend),
  ]);
  return table("Cost and tokens by role", ["role", "type", "turns", "tokens in", "tokens out", "cost"], rows);
}

function reviewLines({ session }: SessionReport): string[] {
  const reviews = ticketsOf(session).flatMap(({ id, reviews }) => reviews.map((review) => ({ id, ...review })));
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
    const reason = why === "" ? "" : ` (${plain(why)})`;
    const answered = answer === undefined ? "not answered" : `${plain(answer.text)} by ${plain(answer.by)}`.trim();
    return `- ${plain(momentOf(at))} UTC, ${kind}: ${plain(text)}${reason} **${answered}**`;
  });
  return ["## Asked and answered", "", ...lines];
}

function artifactLines({ session }: SessionReport): string[] {
  const rows = ticketsOf(session).flatMap(({ id, artifacts }) =>
    artifacts.map(({ label, uri, size_bytes }) => [id, label, size_bytes?.toLocaleString("en") ?? "-", uri]),
  );
  return table("Artifacts", ["ticket", "label", "bytes", "where, from the home"], rows);
}

function proofSection(report: SessionReport): string[] {
  const { problems } = report.proof;
  return [
    `## Verification: ${proofWord(report).text}`,
    "",
    ...proofLines(report.proof).map(({ name, found, text }) => `- ${name}: ${found}, ${text}`),
    ...problems.map(
      ({ sequence, what }) => `- **${sequence === null ? "folder" : `record ${sequence}`}**: ${plain(what)}`,
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
  const lines = rows.map((row) => row.map((cell, index) => (index === marked ? cell : plain(cell))));
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [`## ${title}`, "", line(headings), line(headings.map(() => "---")), ...lines.map(line)];
}

/** Untrusted text on one line, with all markup escaped. */
function plain(text: string): string {
  return safeLine(text)
    .replace(/[\\`*_[\]<>|~&#]/g, (character) => `\\${character}`)
    .replace(/^[-+=]/, "\\$&");
}

/** An agent's text as a quote, so that none of its lines can pass for the report's own. */
function quoted(text: string): string[] {
  return text.trim() === "" ? [] : text.split("\n").map((line) => `> ${plain(line)}`.trimEnd());
}

/** A text in a code fence that is longer than any fence inside it. */
function fenced(text: string): string[] {
  const safe = safeText(cutText(text.trimEnd(), LONGEST_OUTPUT));
  const longest = Math.max(2, ...[...safe.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return [fence, ...safe.split("\n"), fence];
}
