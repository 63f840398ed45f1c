import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "./failure.ts";

/** A time in UTC as RFC 3339 text that ends in `Z`, to the millisecond, as in every record and payload. */
export type Instant = string;

// Stricter than ajv-formats and Date.parse, which accept a space for the `T`, `+0100`, year 0000, second 60 or 30 February.
const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})?$/;

/** The start of the year 0, in ms. */
const FIRST_MS = -62_167_219_200_000;
/** The end of the year 9999, the last RFC 3339 time, in ms. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Parses RFC 3339 text and converts an explicit offset to UTC. A time without a zone or outside the calendar is `validation_failed`. */
export function parseInstant(text: string): Fallible<Instant> {
  const match = RFC_3339.exec(text);
  if (match === null) return refuse(text, "is not an RFC 3339 time");
  const zone = match[8];
  if (zone === undefined) return refuse(text, "has no time zone");
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const fraction = Number((match[7] ?? "0").padEnd(3, "0").slice(0, 3));
  const offset = zone === "Z" ? 0 : offsetMinutes(zone);
  const days = new Date(Date.UTC(2000, month, 0)).getUTCDate() - (month === 2 && !isLeap(year) ? 1 : 0);
  const real = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days;
  if (!real || hour > 23 || minute > 59 || second > 59) return refuse(text, "is not a time of the calendar");
  if (offset === null) return refuse(text, "has an invalid offset");
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  moment.setUTCHours(hour, minute - offset, second, fraction);
  const converted = moment.getUTCFullYear();
  if (converted < 1 || converted > 9999) return refuse(text, "is outside the years 0001 to 9999");
  return ok(instant(moment.getTime()));
}

/**
 * Converts milliseconds since 1970-01-01T00:00:00Z to an instant, clamped to the first or last one that can be written, because programs report any
 * number. Whole seconds are written without a fraction.
 */
export function instant(ms: number): Instant {
  return new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS)).toISOString().replace(".000Z", "Z");
}

/** Milliseconds since 1970-01-01T00:00:00Z of an instant that `parseInstant` or `instant` made. */
export function milliseconds(time: Instant): number {
  return Date.parse(time);
}

/** The instant `ms` milliseconds after another, at most the last one, because a log can contain any number. */
export function later(time: Instant, ms: number): Instant {
  return instant(milliseconds(time) + ms);
}

function offsetMinutes(zone: string): number | null {
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return null;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function refuse(text: string, why: string): Fallible<never> {
  return fails("validation_failed", `The time ${JSON.stringify(text.slice(0, 40))} ${why}.`, {
    hint: "Write UTC as 2025-12-06T12:34:56Z, or an explicit offset as 2025-12-06T20:34:56+08:00.",
  });
}
