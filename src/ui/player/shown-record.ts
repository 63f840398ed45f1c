import { folded } from "../../lib/text-layout.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { safeLine, safeText, wrapped } from "../display.ts";
import { localTime } from "../timeline.ts";
import { justified, type Line, trusted, untrusted } from "../tui/line.ts";
import { MARKS } from "./scrubber.ts";
import type { Entry } from "./tape.ts";

/** A record as stored in its file, and with its references resolved. */
export interface ShownRecord {
  /** The file name. */
  readonly name: string;
  readonly bytes: Buffer | null;
  readonly stored: LogRecord | undefined;
  readonly resolved: LogRecord | undefined;
}

/** Maximum number of lines shown of a payload value. */
const LINES_OF_A_VALUE = 3;

/** With fewer columns, time, version and size are not shown. */
const NARROW = 60;

/** Maximum number of characters laid out of a value. */
const VALUE_SHOWN = 2_000;

/** Maximum number of characters laid out of a record's JSON; `replay --json` shows all. */
const JSON_SHOWN = 200_000;

/** The header: who says what to whom, when, about which ticket. `before` is the sequence of the previous record. */
export function recordHeader(entry: Entry, { name, stored }: ShownRecord, before: number, columns: number): Line {
  const { sequence, at, bytes, marker } = entry;
  const mark = marker === undefined ? [] : [trusted(`${MARKS[marker].icon} `, MARKS[marker].style)];
  const start: Line = [trusted(` #${sequence} `, "bold"), ...mark];
  const missing = [...new Set([before + 1, sequence - 1])].join(" to ");
  const gap = sequence > before + 1 ? [trusted(`  missing before it: ${missing}`, "red")] : [];
  if (stored === undefined) return [...start, untrusted(`${name} cannot be read`, "red"), ...gap];
  const { source, target, payload_type, version, record } = stored;
  const disposition = record.disposition === "applied" ? [] : [trusted("  "), untrusted(record.disposition, "yellow")];
  const person = record.actor === undefined ? "" : `  by ${safeLine(record.actor.user)}`;
  const left: Line = [
    ...start,
    untrusted(`${source} -> ${target}`),
    trusted("  "),
    untrusted(payload_type, "bold"),
    ...(record.ticket_id === undefined ? [] : [trusted("  "), untrusted(record.ticket_id, "cyan")]),
    trusted(person),
    ...disposition,
    ...gap,
  ];
  const about = ` ${localTime(new Date(at))}  v${safeLine(version)}  ${bytes.toLocaleString("en")} B `;
  return columns < NARROW ? left : justified(left, [trusted(about, "dim")], columns);
}

/** The record's ticket transitions, and the first lines of its payload. */
export function payloadLines({ resolved }: ShownRecord, columns: number, rows: number): Line[] {
  if (resolved === undefined) return [[trusted("   v shows the file.", "dim")]];
  const width = Math.max(1, columns - 3);
  const lines = movesLines(resolved);
  // Objects and lists come last.
  const weight = ([, value]: [string, unknown]) => Number(typeof value === "object");
  for (const [key, value] of Object.entries(resolved.payload).sort((one, other) => weight(one) - weight(other))) {
    if (lines.length > rows) break;
    const shown = typeof value === "string" ? wrapped(`${key}: ${value.slice(0, VALUE_SHOWN)}`, width, 0) : [];
    const json = (JSON.stringify(value) ?? "").slice(0, VALUE_SHOWN);
    const texts = shown.length > 0 ? shown.slice(0, LINES_OF_A_VALUE) : [safeLine(`${key}: ${json}`)];
    lines.push(...texts.map((text): Line => [trusted("   "), trusted(text)]));
  }
  if (lines.length <= rows) return lines;
  return rows < 2 ? lines.slice(0, rows) : [...lines.slice(0, rows - 1), [trusted("   … v shows all", "dim")]];
}

function movesLines({ record: { effects = [] } }: LogRecord): Line[] {
  const moves = effects.map(({ ticket_id, from, to }) => `${ticket_id}: ${from ?? "new"} -> ${to}`);
  return moves.length === 0 ? [] : [[trusted("   "), untrusted(moves.join(", ").slice(0, VALUE_SHOWN), "bold")]];
}

export function jsonLines({ bytes, stored }: ShownRecord, columns: number): Line[] {
  const whole = stored === undefined ? (bytes?.toString("utf8") ?? "") : JSON.stringify(stored, null, 2);
  const text = whole.slice(0, JSON_SHOWN);
  const lines = safeText(text)
    .split("\n")
    .flatMap((line) => folded(line, Math.max(1, columns - 2)))
    .map((line): Line => [trusted(" "), trusted(line)]);
  if (bytes === null) return [[trusted(" The file cannot be read.", "red")]];
  return whole.length === text.length ? lines : [...lines, [trusted(" … replay --json shows all", "dim")]];
}
