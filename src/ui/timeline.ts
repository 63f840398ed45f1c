import { widthOf } from "../lib/text-layout.ts";
import { hanging, safeLine } from "./display.ts";
import type { RecordLine } from "./record-event.ts";
import type { Output } from "./terminal.ts";
import { localize } from "./words.ts";

/** Width of the column of ticket ids. */
export const TICKET_WIDTH = 16;

/** Maximum share of a line for the columns before the text. A narrower terminal has no columns. */
const COLUMNS_SHARE = 0.4;

/** Formats an event: time, session if one is given, ticket, text. On a terminal the text is wrapped between words. */
export function timelineLines(
  out: Output,
  at: Date,
  { ticket, text, command, style, name_style }: RecordLine,
  session_id?: string,
): string[] {
  const time = localTime(at);
  const name = safeLine(ticket ?? "-");
  const typed = command === undefined ? undefined : localize(out, safeLine(command));
  const styled = (line: string) => (style ? out.style(style, line) : line);
  const session = session_id === undefined ? "" : `${session_id} `;
  const before = `${time} ${session}`;
  const columns = `${before}${name.padEnd(TICKET_WIDTH)} `;
  if (widthOf(columns) > out.width * COLUMNS_SHARE)
    return hanging(`${time.slice(0, 8)} ${name} ${text}`, out.width, 2, typed).map(styled);
  const [first = "", ...more] = hanging(text, out.width, widthOf(columns), typed);
  const painted = name_style
    ? before + out.style(name_style, name) + columns.slice(before.length + name.length)
    : columns;
  return [painted + styled(first), ...more.map(styled)];
}

/** The local time of day: `20:31:02.118`. Records have times in UTC. */
export function localTime(at: Date): string {
  const milliseconds = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${milliseconds}`;
}

/** A time in local form: `20:31:02`, or `2026-01-31 20:31` if it is not on the day of `now`. */
export function localMoment(at: Date, now: Date): string {
  const time = localTime(at);
  if (at.toDateString() === now.toDateString()) return time.slice(0, 8);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time.slice(0, 5)}`;
}

const two = (value: number) => String(value).padStart(2, "0");
