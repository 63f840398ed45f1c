import { parseDuration } from "../../lib/durations.ts";
import { milliseconds, parseInstant } from "../../protocol/timestamp.ts";

/** The times of the first and the last record, in ms since 1970. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

const TIME_OF_DAY = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3}))?)?$/;

/**
 * Parses a time that a person typed, to ms since 1970: an RFC 3339 time, a local time of day within the log (`20:31`, `20:31:10`), or an offset
 * from the start of the log (`+6m02s`). Returns undefined if it is none of these.
 */
export function parseMoment(text: string, range: TimeRange): number | undefined {
  if (text.startsWith("+")) {
    const after = parseDuration(text.slice(1));
    return after.ok ? range.from + after.value : undefined;
  }
  const [found, hour, minute, second = "0", fraction = "0"] = TIME_OF_DAY.exec(text) ?? [];
  if (found !== undefined) {
    const today = new Date(range.from);
    today.setHours(Number(hour), Number(minute), Number(second), Number(fraction.padEnd(3, "0")));
    const tomorrow = new Date(today);
    tomorrow.setDate(today.getDate() + 1);
    // A time that the log does not include is on its first day.
    return (today.getTime() < range.from && tomorrow.getTime() <= range.to ? tomorrow : today).getTime();
  }
  const instant = parseInstant(text);
  return instant.ok ? milliseconds(instant.value) : undefined;
}
