import type { Ledger } from "../kernel/ledger.ts";
import { parseDuration } from "../lib/durations.ts";
import type { QuotaWindow } from "../protocol/record.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { safeLine } from "./display.ts";
import { localMoment, localTime } from "./timeline.ts";

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const WEEK_MS = 7 * 86_400_000;

/** Maximum difference between the used and the elapsed part of a window that counts as on pace, in percentage points. */
const POINTS = 10;

/** A line for each rate-limit window of the session's accounts that has not been reset since it was reported. */
export function quotaLines({ quotas, terms }: Pick<Ledger, "quotas" | "terms">, now: number): string[] {
  return [...quotas]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([account, { windows }]) => {
      const reserve = terms.reserves?.find(([one]) => one === account)?.[1];
      const ahead = windows.filter(({ resets_at }) => milliseconds(resets_at) > now);
      return ahead.map((window) => windowWords(account, window, reserve, now));
    });
}

/** `codex week 63 % left, resets Thu 09:00, reserve 20 %, on pace`. */
function windowWords(account: string, window: QuotaWindow, reserve: number | undefined, now: number): string {
  const pace = paceOf(window, now);
  return [
    `${safeLine(account)} ${safeLine(window.name)} ${Math.round(100 - window.used_percent)} % left`,
    `resets ${resetMoment(milliseconds(window.resets_at), now)}`,
    ...(reserve === undefined ? [] : [`reserve ${reserve} %`]),
    ...(pace === undefined ? [] : [pace]),
  ].join(", ");
}

/** `09:00` today, `Thu 09:00` within a week, otherwise `2026-12-24 09:00`; local time. */
function resetMoment(at: number, now: number): string {
  const date = new Date(at);
  const moment = localMoment(date, new Date(now));
  const time = localTime(date).slice(0, 5);
  if (!moment.includes(" ")) return time;
  return at - now <= WEEK_MS ? `${WEEKDAYS[date.getDay()]} ${time}` : moment;
}

/** Compares the used part of a window with the elapsed part; undefined if the window's name is not a duration. */
function paceOf({ name, used_percent, resets_at }: QuotaWindow, now: number): string | undefined {
  const [length = ""] = name.split(" ");
  const parsed = parseDuration(length === "week" ? "7d" : length);
  if (!parsed.ok || parsed.value === 0) return undefined;
  const elapsed = 100 - ((milliseconds(resets_at) - now) / parsed.value) * 100;
  if (Math.abs(used_percent - elapsed) <= POINTS) return "on pace";
  return used_percent > elapsed ? "ahead of pace" : "behind pace";
}
