import { subjectTable } from "../subject-columns.ts";
import { factsOf, outcomeOf, PROOF_TONE, proofWord, ticketList, ticketsOf } from "./figures.ts";
import { resultLines } from "../ending.ts";
import { clipped, hanging, safeLine, wrapped, wrappedLines } from "../display.ts";
import { lastLines } from "../failure-lines.ts";
import { problemLines, proofLines } from "../proof-words.ts";
import { tableLines } from "../table.ts";
import { STYLES } from "../status.ts";
import type { Output } from "../terminal.ts";
import { counted } from "../words.ts";
import type { PageList } from "./html/page-data.ts";
import { roleList } from "./lists.ts";
import type { SessionReport } from "./report-model.ts";
import { chartLines } from "./chart.ts";
import type { Tone } from "../../kernel/presentation.ts";

/** Maximum number of entries shown in a section. The other formats show all. */
const MAX_LINES = 40;

/** Width of the names in the verification section, in columns. */
const PROOF_NAMES = 13;

/** A report for a terminal, as lines. */
export function terminalReport(report: SessionReport, out: Output): string[] {
  const { session } = report;
  const outcome = outcomeOf(report);
  const roles = roleList(report);
  const facts = factsOf(report).map(([label, text]) => `${label} ${text}`);
  return [
    ...wrappedLines(session.requirement || session.session_id, out.width, 0).map((line) => out.style("bold", line)),
    ...hanging(`${session.session_id} is ${outcome.text}`, out.width, 2).map((line) => styled(out, outcome.tone, line)),
    ...hanging(facts.join(" · "), out.width, 2).map((line) => out.style("dim", line)),
    ...resultLines(report.result, out),
    ...section(out, "What was done", ticketLines(report, out)),
    ...section(out, "When", chartLines(report, out.width)),
    ...section(out, roles.title, listLines(roles, out)),
    ...section(out, "Sent back", sentBack(report, out)),
    ...section(out, "Checks", checkLines(report, out)),
    ...section(out, "Asked and answered", askedLines(report, out)),
    ...section(out, "Artifacts", artifactLines(report, out)),
    ...section(out, `Verification: ${proofWord(report).text}`, proofOf(report, out)),
  ];
}

function section(out: Output, title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, MAX_LINES);
  const hidden = lines.length - shown.length;
  const more = hidden === 0 ? [] : [out.style("dim", `  and ${counted(hidden, "more line")}`)];
  return ["", out.style("bold", title), ...shown, ...more];
}

function styled(out: Output, tone: Tone, text: string): string {
  const style = STYLES[tone];
  return style === undefined ? text : out.style(style, text);
}

function ticketLines(report: SessionReport, out: Output): string[] {
  const { list, subjects } = ticketList(report);
  return subjects.length === 0 ? [] : subjectTable(list, subjects, out);
}

function listLines({ columns, rows }: PageList, out: Output): string[] {
  const headings = columns.map(({ heading, width }) => ({ heading: heading.toUpperCase(), widest: width }));
  const cells = rows.map((row) => row.cells);
  const [heading = "", ...lines] = tableLines(headings, cells, out.width);
  return lines.length === 0 ? [] : [out.style("dim", heading), ...lines];
}

/** The reviews that did not approve: the others say little. */
function sentBack(report: SessionReport, out: Output): string[] {
  return ticketsOf(report).flatMap(({ id, reviews }) =>
    reviews
      .filter(({ decision }) => decision !== "approved")
      .flatMap(({ by, text }) => wrappedLines(`${id} by ${by}: ${safeLine(text)}`, out.width, 2)),
  );
}

function checkLines({ checks }: SessionReport, out: Output): string[] {
  if (checks.length === 0) return [];
  const failed = checks.filter(({ passed }) => !passed);
  const summary = `  ${checks.length - failed.length} passed, ${failed.length} failed`;
  return [
    summary,
    ...failed.flatMap(({ ticket_id = "-", criterion, output }) => [
      ...wrappedLines(`${ticket_id}: ${safeLine(criterion)}`, out.width, 2).map((line) => out.style("red", line)),
      ...lastLines(output, { width: out.width - 6, last_lines: 3 }).map((line) => out.style("dim", `    ${line}`)),
    ]),
  ];
}

function askedLines({ asked }: SessionReport, out: Output): string[] {
  return asked.flatMap(({ text, answer }) => {
    const answered = answer === undefined ? "not answered" : `${answer.text} by ${answer.by}`.trim();
    return wrappedLines(`${safeLine(text)} ${safeLine(answered)}`, out.width, 2);
  });
}

function artifactLines(report: SessionReport, out: Output): string[] {
  return ticketsOf(report).flatMap(({ artifacts }) =>
    artifacts.map(({ label, uri }) => `  ${clipped(`${label}: ${uri}`, out.width - 2)}`),
  );
}

function proofOf({ proof }: SessionReport, out: Output): string[] {
  return [
    ...proofLines(proof).flatMap(({ found, name, text }) => {
      const [first = "", ...more] = hanging(text, out.width, PROOF_NAMES + 3);
      return [`  ${styled(out, PROOF_TONE[found], name.padEnd(PROOF_NAMES))} ${first}`, ...more];
    }),
    ...problemLines(proof).flatMap((problem) => wrapped(problem, out.width, 2).map((line) => out.style("red", line))),
  ];
}
