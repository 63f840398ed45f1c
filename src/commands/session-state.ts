import type { LedgerFigures } from "../kernel/ledger.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { keptRecord } from "../store/kept-record.ts";
import type { StoreReader } from "../store/store.ts";

// Single records and values of a session of whatever mode, for commands that need one and not the whole.

/** A stored record; undefined if the session has none with this sequence. Throws a `StorageError` for what is no record. */
export function recordAt(reader: StoreReader, session_id: string, sequence: number): UnsealedRecord | undefined {
  return reader.record(session_id, sequence) === undefined ? undefined : keptRecord(reader, session_id, sequence);
}

/** What a session was opened with, by its first record; undefined if it was never begun. */
export function openedWith(reader: StoreReader, session_id: string): PayloadByType["session_opened"] | undefined {
  return recordAt(reader, session_id, 1)?.payload as unknown as PayloadByType["session_opened"] | undefined;
}

/** What the engine has counted, and how the session was last left. */
export function figuresOf(reader: StoreReader, session_id: string): LedgerFigures | undefined {
  return reader.value(session_id, "figures", "figures") as unknown as LedgerFigures | undefined;
}
