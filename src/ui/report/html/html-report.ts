import type { JsonObject } from "../../../lib/json.ts";
import { safeText } from "../../display.ts";
import { durationOf, kindOf, ticketsOf, toneOf } from "../figures.ts";
import { envelopeList } from "../lists.ts";
import type { SessionReport } from "../report-model.ts";
import { shownReport } from "../shown-report.ts";
import { drawGraph } from "./graph.ts";
import { type PageAssets, pageParts } from "./page.ts";
import { drawTimeline, type TimelineRow } from "./timeline.ts";

/** A report as one HTML file, in parts. */
export function htmlReport(report: SessionReport, assets: PageAssets): string[] {
  const { from, to } = report;
  const nodes = ticketsOf(report).map((ticket, row) => ({ ...ticket, tone: toneOf(report, ticket.status), row }));
  const drawings = {
    timeline: drawTimeline(timelineRows(report), Date.parse(from), Date.parse(to)),
    graph: drawGraph(nodes),
  };
  const shown = shownReport(report);
  return pageParts(safeDeep({ ...shown, lists: [...shown.lists, envelopeList(report)] }), drawings, assets);
}

/** A row for each ticket, after the one for the session itself. */
function timelineRows(report: SessionReport): TimelineRow[] {
  const { to } = report;
  const turns = Map.groupBy(report.turns, ({ ticket_id }) => ticket_id);
  const rows = [undefined, ...ticketsOf(report)].map((ticket, index): TimelineRow => {
    const spans = (turns.get(ticket?.id) ?? []).map((span) => {
      const { role_id, from, to: end = to, failed, turn_id, run } = span;
      const fate = failed === undefined ? "" : `, ${failed}`;
      return {
        from: Date.parse(from),
        to: Date.parse(end),
        kind: kindOf(report, span),
        title: `${role_id}, ${durationOf(from, end)}${fate} (${turn_id}.${run})`,
      };
    });
    const marks = (ticket?.moves ?? []).flatMap(({ at, to: state, reason }) => {
      const tone = toneOf(report, state);
      const title = `${state}${reason === undefined ? "" : ` (${reason})`}`;
      return tone === "busy" || tone === "quiet" || tone === "plain" ? [] : [{ at: Date.parse(at), tone, title }];
    });
    return { name: ticket?.id ?? "session", row: ticket === undefined ? undefined : index - 1, spans, marks };
  });
  return rows.filter(({ row, spans }) => row !== undefined || spans.length > 0);
}

/** Sanitises every text in a value: a page shows no escape sequences, and no text reorders what is beside it. */
function safeDeep<T>(value: T): T {
  if (typeof value === "string") return safeText(value) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => safeDeep(one)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject).map(([key, one]) => [key, safeDeep(one)]);
  return Object.fromEntries(entries) as T;
}
