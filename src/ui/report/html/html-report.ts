import { createHash } from "node:crypto";
import type { JsonObject } from "../../../lib/json.ts";
import { safeText } from "../../display.ts";
import { ticketsOf, toneOf } from "../figures.ts";
import { envelopeList } from "../lists.ts";
import type { SessionReport } from "../report-model.ts";
import { shownReport } from "../shown-report.ts";
import { drawGraph } from "./graph.ts";
import { drawTimeline } from "./timeline.ts";
import { escapeMarkup } from "./markup.ts";
import { DATA_ID, type PageData } from "./page-data.ts";

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

/** The built script and stylesheet of the page. */
interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** The marker near the beginning of every report page, and of no other file. */
export const PAGE_MARK = '<meta name="generator" content="bosun report">';

const LEGEND =
  '<p class="legend">Blue: work. Grey: the manager. Red and dashed: failed, or cut off. A dot: done, blocked or in error.</p>';

/**
 * The page, in parts to be written in order. Nothing in it can reach the network or run except its one script: the content security policy
 * names the digests of the script and the stylesheet. Untrusted text is escaped, or in a data block that it cannot end.
 */
function pageParts(
  data: PageData,
  drawings: Readonly<Record<"timeline" | "graph", string>>,
  { script, style }: PageAssets,
): string[] {
  const policy = [
    "default-src 'none'",
    `script-src ${digestOf(script)}`,
    `style-src ${digestOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
${PAGE_MARK}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Bosun: ${escapeMarkup(data.session_id)}</title>
<style>${style}</style>
</head>
<body>
<nav><div id="contents"></div><input id="search" type="search" placeholder="Search ( / )" aria-label="Search"><button id="theme" type="button" aria-label="Light or dark">◐</button></nav>
<main>
<noscript>This page shows its data with its own script, which is turned off here.</noscript>
<section id="overview"></section>
<section id="proof"></section>
${drawing("timeline", "Timeline", drawings.timeline, LEGEND)}${drawing("graph", "Dependencies", drawings.graph)}<div id="lists"></div>
</main>
<footer>Written by Bosun. Press ? for the keys.</footer>
<dialog id="dialog"></dialog>
`;
  // Escapes `<`, so that no text can end the block or begin a comment in it.
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  return [
    head,
    `<script type="application/json" id="${DATA_ID}">${json}</script>\n`,
    `<script>${script}</script>\n</body>\n</html>\n`,
  ];
}

function drawing(id: string, title: string, svg: string, legend = ""): string {
  if (svg === "") return "";
  return `<section id="${id}"><h2>${title}</h2><div class="drawing">${svg}</div>${legend}</section>\n`;
}

function digestOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
