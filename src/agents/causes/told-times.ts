const UNITS_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
const UNIT = "(?:milliseconds?|ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])";
const LENGTH = `\\d+(?:\\.\\d+)? ?${UNIT}(?:,? (?:and )?|,)?`;
const LENGTHS = new RegExp(`^(?:${LENGTH})+$`, "i");
const AFTER = new RegExp(
  `\\b(?:again|retry(?:ing)?|resets?|wait|available|access)(?: \\w+){0,2}? ?(?:in|after|for|about|:)? ?((?:${LENGTH})+)`,
  "i",
);
const DAY_AND_TIME =
  /\b(\d{4})-(\d\d)-(\d\d)(?:(?:T| at | )(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?(?: ?(Z|UTC|GMT|[+-]\d\d:?\d\d))?(?![\d:])/;
const CLOCK =
  /\b(?:at|resets?|until|on) (?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?:,| at)? )?(\d{1,2})(?::(\d\d))? ?([ap]m\b)?(?: ?\(?(UTC|GMT|[A-Z][a-z]+\/[\w/+-]+)\)?)?/i;
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/** A clock time of the last minutes means now, not tomorrow: the words may be a little old. */
const OLD_WORDS_MS = 15 * UNITS_MS.m;

/** Year, month from 0, day, hours, minutes, seconds. */
type Parts = readonly [number, number, number, number, number, number];

/**
 * When words say that it may be tried again: "try again in 3 days 4 hours", "will reset after 5h12m30s", "regain access on 2026-12-01 at 00:00 UTC",
 * "try again at Nov 29th, 2026 8:11 AM", "resets 7:35pm (Europe/Berlin)". Without a zone, it is the local one. In ms since 1970, as `now`.
 */
export function timeTold(words: string, now: number): number | undefined {
  const epoch = /\|(\d{10})\b/.exec(words)?.[1];
  if (epoch !== undefined) return Number(epoch) * 1_000;
  const after = lengthIn(AFTER.exec(words)?.[1] ?? "");
  if (after !== undefined) return now + after;
  const day = dayIn(words);
  if (day !== undefined) return day > now ? day : undefined;
  return clockIn(words, now);
}

/** A length of time such as "11.054s", "5h12m30s" or "3 days, 4 hours and 5 minutes", in ms. */
export function lengthIn(text: string): number | undefined {
  if (!LENGTHS.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?) ?(ms|milli|[dhms])/gi)];
  return parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * unitOf(unit.toLowerCase()), 0);
}

function unitOf(unit: string): number {
  return unit === "milli" ? 1 : UNITS_MS[unit as keyof typeof UNITS_MS];
}

function dayIn(words: string): number | undefined {
  const found = DAY_AND_TIME.exec(words);
  if (found === null) return undefined;
  const [year = 0, month = 0, ...rest] = found.slice(1, 7).map((part) => Number(part ?? 0));
  const [day = 0, hours = 0, minutes = 0, seconds = 0] = rest;
  const parts: Parts = [year, month - 1, day, hours, minutes, seconds];
  return timeOf(parts, found[7]?.replace("Z", "UTC").replace(/(\d\d)(\d\d)$/, "$1:$2"));
}

/** A clock time is rounded down to the minute: the limit ends within it. */
function clockIn(words: string, now: number): number | undefined {
  const [, month, day, year, hour = "", minute, half, zone] = CLOCK.exec(words) ?? [];
  if (hour === "" || (minute === undefined && half === undefined)) return undefined;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
  const [thisYear, thisMonth, today] = partsAt(now, zone);
  const monthIndex = month === undefined ? thisMonth : MONTHS.indexOf(month.toLowerCase());
  if (monthIndex < 0) return undefined;
  const at = (inYear: number, onDay: number) =>
    timeOf([inYear, monthIndex, onDay, hours, Number(minute ?? 0), 0], zone) + UNITS_MS.m;
  const time = at(Number(year ?? thisYear), Number(day ?? today));
  if (time > now - OLD_WORDS_MS || year !== undefined) return time;
  return month === undefined ? at(thisYear, today + 1) : at(thisYear + 1, Number(day));
}

/** The time of a calendar's parts in a zone: the local one, or one that the system knows. */
function timeOf(parts: Parts, zone: string | undefined): number {
  if (zone === undefined) return new Date(...parts).getTime();
  const asUtc = Date.UTC(...parts);
  const offset = (time: number) => Date.UTC(...partsAt(time, zone)) - time;
  return asUtc - offset(asUtc - offset(asUtc));
}

function partsAt(time: number, zone: string | undefined): Parts {
  const of = new Map(
    formatOf(zone)
      .formatToParts(time)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => of.get(type) ?? 0;
  return [part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second")];
}

/** Of a zone that the system does not know, the local format. */
function formatOf(timeZone: string | undefined): Intl.DateTimeFormat {
  const parts = { dateStyle: "short", timeStyle: "medium", hourCycle: "h23" } as const;
  try {
    return new Intl.DateTimeFormat("en-GB", { ...parts, timeZone });
  } catch {
    return new Intl.DateTimeFormat("en-GB", parts);
  }
}
