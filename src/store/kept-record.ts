import type { JsonObject } from "../lib/json.ts";
import { isOfStorage } from "../protocol/failure.ts";
import type { LogRecord } from "../protocol/record.ts";
import { recordLost } from "./failures.ts";
import { StorageError } from "./storage-error.ts";
import type { SessionRow, StoreReader } from "./store.ts";

/** A committed record. Throws a `StorageError` if the database has lost it, or if the stored line does not parse. */
export function keptRecord(
  reader: Pick<StoreReader, "location" | "record">,
  session_id: string,
  sequence: number,
): LogRecord {
  return measuredRecord(reader, session_id, sequence).record;
}

/** A committed record and its size in bytes. Throws like `keptRecord`. */
export function measuredRecord(
  reader: Pick<StoreReader, "location" | "record">,
  session_id: string,
  sequence: number,
): { readonly record: LogRecord; readonly bytes: number } {
  const line = reader.record(session_id, sequence) ?? "";
  try {
    return { record: JSON.parse(line) as LogRecord, bytes: Buffer.byteLength(line) };
  } catch (error) {
    throw new StorageError(recordLost(reader.location, session_id, sequence), error);
  }
}

/**
 * The stored records of a session from sequence `from` up to `to`, or up to the current last one. Records committed meanwhile are left for the
 * next call. Throws a `StorageError` for a record that is lost or unreadable.
 */
export function* recordsOf(reader: StoreReader, session_id: string, from: number, to?: number): Generator<LogRecord> {
  const row = reader.session(session_id);
  if (!row.ok && isOfStorage(row.error)) throw new StorageError(row.error);
  // The id of a session that does not exist yet may be a prefix of another one's id.
  const last = row.ok && row.value.session_id === session_id ? row.value.last_sequence : 0;
  for (let sequence = from; sequence <= Math.min(last, to ?? last); sequence += 1)
    yield keptRecord(reader, session_id, sequence);
}

/** Number of latest records that `latestOf` searches. */
const LOOKED_THROUGH = 2_000;

/** Returns those of a session's latest records that have one of `types`, without reading the others. Throws a `StorageError` like `recordsOf`. */
export function* latestOf(
  reader: StoreReader,
  { session_id, last_sequence }: Pick<SessionRow, "session_id" | "last_sequence">,
  types: ReadonlySet<string>,
): Generator<LogRecord> {
  for (let sequence = Math.max(1, last_sequence - LOOKED_THROUGH + 1); sequence <= last_sequence; sequence += 1) {
    const payload_type = reader.payloadType(session_id, sequence);
    if (payload_type === undefined || types.has(payload_type)) yield keptRecord(reader, session_id, sequence);
  }
}

/** The last final report of a closed session. Its files may be missing if the process died after the commit. */
export function lastReport(
  reader: Pick<StoreReader, "location" | "record">,
  { session_id, last_sequence }: Pick<SessionRow, "session_id" | "last_sequence">,
): JsonObject {
  for (let sequence = last_sequence; ; sequence -= 1) {
    const { payload_type, payload } = keptRecord(reader, session_id, sequence);
    if (payload_type === "final_report") return payload;
  }
}
