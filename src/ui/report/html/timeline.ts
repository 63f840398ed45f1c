import { formatDuration } from "../../../lib/durations.ts";
import { cut } from "../../../protocol/refusal.ts";
import type { MoveModel } from "../../model/model.ts";
import { durationOf, kindOf, ticketsOf, toneOf } from "../figures.ts";
import type { SessionReport, TurnSpan } from "../report-model.ts";
import { escapeMarkup, notDrawn } from "./markup.ts";

const NAMES = 170;
const WIDTH = 1_180;
const PLOT = WIDTH - NAMES - 20;
const ROW = 20;
const AXIS = 24;
const NAME_LENGTH = 23;
/** Minimum width of a span, so that it is visible. */
const MIN_WIDTH = 2;

/** More rows make the page slow to open. */
const MAX_ROWS = 1_500;

/** Maximum number of labels on the axis. */
const MAX_TICKS = 9;

/** Possible distances of the labels, in seconds; for a longer session, any. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800];

/** The turns of a session over time as SVG, a row for each ticket. Empty without turns; a note if there are too many rows. */
export function drawTimeline(report: SessionReport): string {
  const turns = Map.groupBy(report.turns, ({ ticket_id }) => ticket_id);
  const tickets = ticketsOf(report);
  // The turns about no ticket come first.
  const rows = turns.has(undefined) ? [undefined, ...tickets] : tickets;
  if (rows.length > MAX_ROWS) return notDrawn(rows.length, MAX_ROWS);
  if (turns.size === 0) return "";
  const from = Date.parse(report.from);
  const length = Math.max(1, Date.parse(report.to) - from);
  const xAfter = (ms: number) => round(NAMES + (Math.max(0, Math.min(length, ms)) / length) * PLOT);
  const xOf = (at: string) => xAfter(Date.parse(at) - from);
  const height = AXIS + rows.length * ROW + 8;
  const lines = ticksOf(length).map((after) => {
    const x = xAfter(after);
    const label = `<text class="soft" x="${x}" y="14" text-anchor="middle">+${formatDuration(after)}</text>`;
    return `<line class="grid" x1="${x}" x2="${x}" y1="${AXIS - 4}" y2="${height}"/>${label}`;
  });
  const drawn = rows.map((ticket, index) => {
    const top = AXIS + index * ROW;
    const place = ticket === undefined ? "" : ` data-ticket="${index - rows.length + tickets.length}"`;
    const label = `<text x="8" y="${top + 14}">${escapeMarkup(cut(ticket?.id ?? "session", NAME_LENGTH))}</text>`;
    const bars = (turns.get(ticket?.id) ?? []).map((turn) => bar(report, turn, top, xOf));
    const marks = (ticket?.moves ?? []).map((move) => mark(report, move, top, xOf));
    return `<g${place}>${label}${bars.join("")}${marks.join("")}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" role="img" aria-label="Timeline">`,
    ...lines,
    ...drawn,
    "</svg>",
  ].join("");
}

function bar(report: SessionReport, turn: TurnSpan, top: number, xOf: (at: string) => number): string {
  const { role_id, from, to = report.to, failed, turn_id, run } = turn;
  const title = `${role_id}, ${durationOf(from, to)}${failed === undefined ? "" : `, ${failed}`} (${turn_id}.${run})`;
  const width = round(Math.max(MIN_WIDTH, xOf(to) - xOf(from)));
  const place = `x="${xOf(from)}" y="${top + 4}" width="${width}" height="${ROW - 8}" rx="2"`;
  return `<rect class="span ${kindOf(report, turn)}" ${place}><title>${escapeMarkup(title)}</title></rect>`;
}

/** A dot for a move of the ticket to a state that has a tone. */
function mark(report: SessionReport, { at, to, reason }: MoveModel, top: number, xOf: (at: string) => number): string {
  const tone = toneOf(report, to);
  if (tone === "busy" || tone === "quiet" || tone === "plain") return "";
  const title = escapeMarkup(`${to}${reason === undefined ? "" : ` (${reason})`}`);
  return `<circle class="mark ${tone}" cx="${xOf(at)}" cy="${top + ROW / 2}" r="4"><title>${title}</title></circle>`;
}

/** Positions of the labels on the axis, in ms since its beginning: round times, not too many. */
export function ticksOf(length: number): number[] {
  const seconds = length / 1_000 / MAX_TICKS;
  const step = (STEPS.find((one) => seconds <= one) ?? Math.ceil(seconds)) * 1_000;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
