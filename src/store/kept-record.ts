import type { JsonObject } from "../lib/json.ts";
import type { LogRecord } from "../protocol/record.ts";
import { lost } from "./failures.ts";
import { StorageError } from "./storage-error.ts";
import type { SessionRow, StoreReader } from "./store.ts";

/**
 * A record that was committed, for whoever cannot go on without it: what a session's state refers to, its opening, its end. Throws a
 * `StorageError` if the database has lost it, or holds there what is no record.
 */
export function keptRecord(
  reader: Pick<StoreReader, "place" | "record">,
  session_id: string,
  sequence: number,
): LogRecord {
  return measuredRecord(reader, session_id, sequence).record;
}

/** The same, and how many bytes it has. */
export function measuredRecord(
  reader: Pick<StoreReader, "place" | "record">,
  session_id: string,
  sequence: number,
): { readonly record: LogRecord; readonly bytes: number } {
  const line = reader.record(session_id, sequence) ?? "";
  try {
    return { record: JSON.parse(line) as LogRecord, bytes: Buffer.byteLength(line) };
  } catch (error) {
    throw new StorageError(lost(reader.place, session_id, sequence), error);
  }
}

/** What the last close of a session that was closed said: whoever died right after it may not have come to write it out. */
export function lastReport(
  reader: Pick<StoreReader, "place" | "record">,
  { session_id, last_sequence }: Pick<SessionRow, "session_id" | "last_sequence">,
): JsonObject {
  for (let sequence = last_sequence; ; sequence -= 1) {
    const { payload_type, payload } = keptRecord(reader, session_id, sequence);
    if (payload_type === "final_report") return payload;
  }
}
