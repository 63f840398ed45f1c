import type { JsonObject } from "../../../lib/json.ts";
import { safeText } from "../../display.ts";
import { ticketsOf, toneOf } from "../figures.ts";
import { envelopeList } from "../lists.ts";
import type { SessionReport } from "../report-model.ts";
import { shownReport } from "../shown-report.ts";
import { drawGraph } from "./graph.ts";
import { type PageAssets, pageParts } from "./page.ts";
import { drawTimeline } from "./timeline.ts";

/** A report as one HTML file, in parts. */
export function htmlReport(report: SessionReport, assets: PageAssets): string[] {
  const nodes = ticketsOf(report).map((ticket, row) => ({ ...ticket, tone: toneOf(report, ticket.status), row }));
  const drawings = { timeline: drawTimeline(report), graph: drawGraph(nodes) };
  const shown = shownReport(report);
  return pageParts(safeDeep({ ...shown, lists: [...shown.lists, envelopeList(report)] }), drawings, assets);
}

/** Sanitises every text in a value: a page shows no escape sequences, and no text reorders what is beside it. */
function safeDeep<T>(value: T): T {
  if (typeof value === "string") return safeText(value) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => safeDeep(one)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject).map(([key, one]) => [key, safeDeep(one)]);
  return Object.fromEntries(entries) as T;
}
