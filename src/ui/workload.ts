import { formatDuration } from "../lib/durations.ts";
import type { RunningTurn } from "../runtime/feed/standing.ts";

/** More than these are counted, and not named. */
export const MOST_NAMED = 8;

/** Who works on what, and for how long: `build (hand, 4m), docs (hand, 12s)`; nothing if nobody does. */
export function runningWords(running: readonly RunningTurn[], now: number): string {
  const names = running.slice(0, MOST_NAMED).map(({ role_id, subject, since }) => {
    const long = since === undefined ? [] : [formatDuration(now - since)];
    return subject === undefined || subject === role_id
      ? `${role_id}${long.map((time) => ` (${time})`).join("")}`
      : `${subject} (${[role_id, ...long].join(", ")})`;
  });
  const others = running.length - names.length;
  return [...names, ...(others > 0 ? [`${others} more`] : [])].join(", ");
}
