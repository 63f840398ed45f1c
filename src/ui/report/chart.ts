import { widthOf } from "../../lib/text-layout.ts";
import { clipped, wrapped } from "../display.ts";
import { durationOf, kindOf, type SpanKind, ticketsOf } from "./figures.ts";
import type { SessionReport, TurnSpan } from "./report-model.ts";

/** Width of the names, and maximum and minimum width of the bars, in columns. */
const NAMES = 18;
const WIDEST = 80;
const NARROWEST = 20;

const MARK: Readonly<Record<SpanKind, string>> = { worker: "█", manager: "░", bad: "×" };
const LEGEND = `${MARK.worker} works, ${MARK.manager} the manager, ${MARK.bad} failed or cut off`;

/** The turns about each ticket over time, one line per ticket, under an axis. Empty if it does not fit. */
export function chartLines(report: SessionReport, width: number): string[] {
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
