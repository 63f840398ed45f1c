import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "./failure.ts";

/** A time in UTC as RFC 3339 text that ends in `Z`, to the millisecond, as in every record and payload. */
export type Instant = string;

// Stricter than ajv-formats and Date.parse, which accept a space for the `T`, `+0100`, year 0000 or second 60.
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d`;
const RFC_3339 = new RegExp(String.raw`^(\d{4}-\d{2}-\d{2})T${TIME}:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]${TIME})$`);

/** The start of the year 0 and of the year 1, in ms. */
const FIRST_MS = -62_167_219_200_000;
const FIRST_YEAR_MS = -62_135_596_800_000;
/** The end of the year 9999, the last RFC 3339 time, in ms. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Parses RFC 3339 text and converts an explicit offset to UTC. A time without a zone or outside the calendar is `validation_failed`. */
export function parseInstant(text: string): Fallible<Instant> {
  const [, date] = RFC_3339.exec(text) ?? [];
  if (date === undefined) return refuse(text, "is not an RFC 3339 time with a zone");
  const time = Date.parse(text);
  // Date.parse takes 30 February for 2 March.
  if (!new Date(`${date}T00:00Z`).toJSON()?.startsWith(date) || !(time >= FIRST_YEAR_MS && time <= LAST_MS)) {
    return refuse(text, "is not a time of the calendar, from the year 0001 to 9999");
  }
  return ok(instant(time));
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

function refuse(text: string, why: string): Fallible<never> {
  return fails("validation_failed", `The time ${JSON.stringify(text.slice(0, 40))} ${why}.`, {
    hint: "Write UTC as 2025-12-06T12:34:56Z, or an explicit offset as 2025-12-06T20:34:56+08:00.",
  });
}
