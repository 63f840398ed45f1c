import { formatDuration } from "../lib/durations.ts";

/** A turn that a role holds now. */
export interface RunningTurn {
  readonly turn_id: string;
  readonly role_id: string;
  /** The ticket; a manager's turn may be about none. */
  readonly subject?: string | undefined;
  /** When it was given, in milliseconds since 1970, if it is known. */
  readonly since?: number | undefined;
  /** What its agent said last of how far it is, if that is known. */
  readonly progress?: string | undefined;
}

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
