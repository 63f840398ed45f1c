import { UNAVAILABLE } from "../kernel/outages.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import type { Hold } from "../protocol/telling.ts";
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
