import type { Change } from "../../kernel/mode.ts";
import { type Instant, milliseconds } from "../../protocol/timestamp.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { StoreReader } from "../../store/store.ts";
import { type Clock, systemClock } from "./clock.ts";

const MARK = { put: "clock", id: "owner" } as const;

/** What a session's scheduler stores of its clock: its time at a moment since boot, from which every process of the machine knows its time now. */
export function markOf(clock: Clock): Change {
  return { ...MARK, value: { at: clock.now(), uptime_ms: clock.uptime() } };
}

/**
 * A session's time now, in ms since 1970, for all that shows it: what its scheduler would write into a record. The wall clock may have been set since
 * the scheduler started. Without one it is the time at which the next would start. Throws a `StorageError`.
 */
export function sessionTime(store: StoreReader, session_id: string, isHeld: boolean): number {
  const mark = isHeld ? store.value(session_id, MARK.put, MARK.id) : undefined;
  if (mark !== undefined) {
    const { at, uptime_ms } = mark as { readonly at: Instant; readonly uptime_ms: number };
    return milliseconds(at) + systemClock.uptime() - uptime_ms;
  }
  const wall = milliseconds(systemClock.now());
  const row = store.session(session_id);
  if (!row.ok || row.value.last_sequence === 0) return wall;
  const { received_at } = keptRecord(store, session_id, row.value.last_sequence).record;
  return Math.max(wall, milliseconds(received_at));
}
