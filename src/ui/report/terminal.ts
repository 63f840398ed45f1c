import type { Tone } from "../../kernel/presentation.ts";
import { clipped, hanging, wrapped, wrappedLines } from "../display.ts";
import { resultLines } from "../ending.ts";
import { lastLines } from "../failure-lines.ts";
import { STYLES } from "../status.ts";
import { tableLines } from "../table.ts";
import type { Output } from "../terminal.ts";
import { workDoneLines } from "../work-done.ts";
import { counted } from "../words.ts";
import { widthOf } from "../../lib/text-layout.ts";
import { durationOf, kindOf, type SpanKind, subjectNameOf, ticketsOf } from "./figures.ts";
import { detailsOf, type PageList, type PageProof } from "./html/page-data.ts";
import type { SessionReport, TurnSpan } from "./report-model.ts";
import { shownReport } from "./shown-report.ts";

/** Maximum number of lines shown in a section. The other formats show all. */
const MAX_LINES = 40;

/** Width of the names in the verification section, in columns. */
const PROOF_NAMES = 13;

/** The lists whose rows are short enough for a table. */
const TABLES: ReadonlySet<string> = new Set(["tickets", "roles"]);

export function terminalReport(report: SessionReport, out: Output): string[] {
  const { title, session_id, outcome, tone, facts, parts, proof, lists } = shownReport(report);
  const [subjects = [], ...others] = lists.map((list) =>
    section(out, list.title, TABLES.has(list.id) ? rowLines(list, out) : entryLines(list, out)),
  );
  const done = ticketsOf(report).map(({ id }) => {
    return { id, summary: report.work.get(id)?.summary, changed_files: report.session.changes.get(id) };
  });
  const figures = facts.map(([label, text]) => `${label} ${text}`).join(" · ");
  return [
    ...wrappedLines(title, out.width, 0).map((line) => out.style("bold", line)),
    ...hanging(`${session_id} is ${outcome}`, out.width, 2).map((line) => styled(out, tone, line)),
    ...hanging(figures, out.width, 2).map((line) => out.style("dim", line)),
    ...resultLines(parts, out),
    ...subjects,
    ...workDoneLines(done, subjectNameOf(report), out),
    ...section(out, "When", chartLines(report, out.width)),
    ...others.flat(),
    ...section(out, `Verification: ${proof.word}`, proofLines(proof, out)),
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

function rowLines({ columns, rows }: PageList, out: Output): string[] {
  if (rows.length === 0) return [];
  const [heading = "", ...lines] = tableLines(
    columns,
    rows.map(({ cells }) => cells),
    out.width,
  );
  return [out.style("dim", heading), ...lines.map((line, index) => styled(out, rows[index]?.tone ?? "plain", line))];
}

/** All that each row tells, and the end of what was printed. Rows that went well are only counted. */
function entryLines(list: PageList, out: Output): string[] {
  const { good = [], others = [] } = Object.groupBy(list.rows, ({ tone }) => (tone === "good" ? "good" : "others"));
  const result = list.columns.findIndex(({ toned }) => toned);
  return [
    ...(good.length === 0 ? [] : [`  ${good.length} ${good[0]?.cells[result]}`]),
    ...others.flatMap((row) => {
      const { printed = [], told = [] } = Object.groupBy(detailsOf(list, row), ([, , style]) =>
        style === "code" ? "printed" : "told",
      );
      const line = told.map(([label, text]) => (/^[\d,]+$/.test(text) ? `${label} ${text}` : text)).join(" · ");
      return [
        ...wrapped(line, out.width, 2).map((one) => styled(out, row.tone, one)),
        ...printed
          .flatMap(([, text]) => lastLines(text, { width: out.width - 6, last_lines: 3 }))
          .map((one) => out.style("dim", `    ${one}`)),
      ];
    }),
  ];
}

function proofLines({ lines, problems }: PageProof, out: Output): string[] {
  return [
    ...lines.flatMap(([tone, name, text]) => {
      const [first = "", ...more] = hanging(text, out.width, PROOF_NAMES + 3);
      return [`  ${styled(out, tone, name.padEnd(PROOF_NAMES))} ${first}`, ...more];
    }),
    ...problems.flatMap((problem) => wrapped(problem, out.width, 2).map((line) => out.style("red", line))),
  ];
}

/** Width of the names, and maximum and minimum width of the bars, in columns. */
const NAMES = 18;
const WIDEST = 80;
const NARROWEST = 20;

const MARK: Readonly<Record<SpanKind, string>> = { worker: "█", manager: "░", bad: "×" };
const LEGEND = `${MARK.worker} works, ${MARK.manager} the manager, ${MARK.bad} failed or cut off`;

/** The turns about each ticket over time, one line per ticket, under an axis. Empty if it does not fit. */
function chartLines(report: SessionReport, width: number): string[] {
  const { turns, from, to } = report;
  const columns = Math.min(WIDEST, width - NAMES - 2);
  if (columns < NARROWEST || turns.length === 0) return [];
  const byTicket = Map.groupBy(turns, ({ ticket_id }) => ticket_id);
  const rows = ticketsOf(report).flatMap(({ id }) => {
    const spans = byTicket.get(id);
    return spans === undefined ? [] : [`${named(id)}${bars(report, spans, columns)}`.trimEnd()];
  });
  if (rows.length === 0) return [];
  const end = `+${durationOf(from, to)}`;
  const axis = `+0s${" ".repeat(Math.max(1, columns - 3 - end.length))}${end}`;
  return [`${named("")}${axis}`, ...rows, ...wrapped(LEGEND, width, 2)];
}

function named(id: string): string {
  const name = clipped(id, NAMES - 2);
  return `  ${name}${" ".repeat(NAMES - widthOf(name))}`;
}

function bars(report: SessionReport, spans: readonly TurnSpan[], columns: number): string {
  const { from, to } = report;
  const began = Date.parse(from);
  const length = Math.max(1, Date.parse(to) - began);
  const column = (at: string) =>
    Math.max(0, Math.min(columns - 1, Math.floor(((Date.parse(at) - began) / length) * columns)));
  const cells = Array.from({ length: columns }, () => " ");
  for (const span of spans) {
    cells.fill(MARK[kindOf(report, span)], column(span.from), column(span.to ?? to) + 1);
  }
  return cells.join("");
}
