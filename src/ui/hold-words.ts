import { UNAVAILABLE } from "../kernel/outages.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import type { Hold } from "../protocol/telling.ts";
import type { Ledger } from "../kernel/ledger.ts";
import { parseDuration } from "../lib/durations.ts";
import type { QuotaWindow } from "../protocol/record.ts";
import { safeLine } from "./display.ts";
import { localMoment } from "./timeline.ts";

/** An outage, as every screen says it: `claude is unavailable since 21:04:10; next try 21:09:12`. Undefined for other holds. */
export function outageWords({ role_id, account = role_id, reason, since, until, trying }: Hold): string | undefined {
  if (reason !== UNAVAILABLE || since === undefined || until === undefined) return undefined;
  // The next try is soon, so it tells which day it is.
  const [begun, next] = [new Date(milliseconds(since)), new Date(milliseconds(until))];
  const then = trying === true ? "trying again" : `next try ${localMoment(next, next)}`;
  return `${safeLine(account)} is unavailable since ${localMoment(begun, next)}; ${then}`;
}

/** Held roles in a few words each, the roles of an account that is away together. */
export function heldWords(holds: readonly Hold[]): string[] {
  return [...new Set(holds.map((hold) => outageWords(hold) ?? shortHold(hold)))];
}

/** A held role as the events of `--json` tell it. */
export function shortHold({ role_id, reason, limit, until }: Hold): string {
  const ends = limit?.limit === "quota" || reason === UNAVAILABLE;
  return `${role_id} (${reason}${ends ? ` until ${until}` : ""})`;
}

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

/** `codex week 63 % left, resets 2026-12-24 09:00, reserve 20 %, on pace`. */
function windowWords(account: string, window: QuotaWindow, reserve: number | undefined, now: number): string {
  const pace = paceOf(window, now);
  return [
    `${safeLine(account)} ${safeLine(window.name)} ${Math.round(100 - window.used_percent)} % left`,
    `resets ${localMoment(new Date(milliseconds(window.resets_at)), new Date(now))}`,
    ...(reserve === undefined ? [] : [`reserve ${reserve} %`]),
    ...(pace === undefined ? [] : [pace]),
  ].join(", ");
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
