import type { LogRecord } from "../protocol/record.ts";
import { lost } from "./failures.ts";
import { StorageError } from "./storage-error.ts";
import type { StoreReader } from "./store.ts";

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
