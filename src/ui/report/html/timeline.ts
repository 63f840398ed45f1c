import { formatDuration } from "../../../lib/durations.ts";
import { cut } from "../../../protocol/refusal.ts";
import type { SpanKind } from "../figures.ts";
import { escapeMarkup, notDrawn } from "./markup.ts";
import type { Tone } from "../../../kernel/presentation.ts";

/** A row of the timeline: the turns about a ticket, or about the session. Times are in ms since 1970. */
export interface TimelineRow {
  readonly name: string;
  /** Index of the ticket in the list of tickets; undefined for the session. */
  readonly row: number | undefined;
  readonly spans: readonly TimelineSpan[];
  readonly marks: readonly TimelineMark[];
}

export interface TimelineSpan {
  readonly from: number;
  readonly to: number;
  readonly kind: SpanKind;
  readonly title: string;
}

/** A transition of the ticket to a state that has a tone. */
export interface TimelineMark {
  readonly at: number;
  readonly tone: Tone;
  readonly title: string;
}

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

/** The turns of a session over time as SVG, with an axis. Empty without turns; a note if there are too many rows. */
export function drawTimeline(rows: readonly TimelineRow[], from: number, to: number): string {
  if (rows.length > MAX_ROWS) return notDrawn(rows.length, MAX_ROWS);
  if (rows.every(({ spans }) => spans.length === 0)) return "";
  const length = Math.max(1, to - from);
  const xOf = (at: number) => NAMES + (Math.max(0, Math.min(length, at - from)) / length) * PLOT;
  const height = AXIS + rows.length * ROW + 8;
  const lines = ticksOf(length).map((after) => {
    const x = round(xOf(from + after));
    const label = `<text class="soft" x="${x}" y="14" text-anchor="middle">+${formatDuration(after)}</text>`;
    return `<line class="grid" x1="${x}" x2="${x}" y1="${AXIS - 4}" y2="${height}"/>${label}`;
  });
  const drawn = rows.map((row, index) => drawRow(row, AXIS + index * ROW, xOf));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" role="img" aria-label="Timeline">`,
    ...lines,
    ...drawn,
    "</svg>",
  ].join("");
}

function drawRow({ name, row, spans, marks }: TimelineRow, top: number, xOf: (at: number) => number): string {
  const bars = spans.map(({ from, to, kind, title }) => {
    const x = xOf(from);
    const width = Math.max(MIN_WIDTH, xOf(to) - x);
    const place = `x="${round(x)}" y="${top + 4}" width="${round(width)}" height="${ROW - 8}" rx="2"`;
    return `<rect class="span ${kind}" ${place}><title>${escapeMarkup(title)}</title></rect>`;
  });
  const points = marks.map(
    ({ at, tone, title }) =>
      `<circle class="mark ${tone}" cx="${round(xOf(at))}" cy="${top + ROW / 2}" r="4"><title>${escapeMarkup(title)}</title></circle>`,
  );
  const place = row === undefined ? "" : ` data-ticket="${row}"`;
  const label = `<text x="8" y="${top + 14}">${escapeMarkup(cut(name, NAME_LENGTH))}</text>`;
  return `<g${place}>${label}${bars.join("")}${points.join("")}</g>`;
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
