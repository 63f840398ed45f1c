import type { LedgerFigures, LedgerValues } from "../../kernel/ledger.ts";
import { CONFIGURATION_DEFAULTS, type PayloadByType } from "../../protocol/payload.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import type { NOTIFIED, SentNotification } from "../../runtime/notifications.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { StoredSession, StoreReader } from "../../store/store.ts";

// Records and values of a session of whatever mode, for commands that need some and not the whole.

/** What is stored of every session that commands look at, by collection. */
interface StoredValues extends LedgerValues {
  readonly [NOTIFIED]: SentNotification;
}

/** All values of a collection. */
export function valuesOf<C extends keyof StoredValues>(stored: StoredSession, collection: C): StoredValues[C][] {
  return Array.from(stored.rows(collection), ({ value }) => value as unknown as StoredValues[C]);
}

/** One value of a collection. */
export function valueOf<C extends keyof StoredValues>(
  reader: StoreReader,
  session_id: string,
  collection: C,
  id: string,
): StoredValues[C] | undefined {
  return reader.value(session_id, collection, id) as unknown as StoredValues[C] | undefined;
}

/** A stored record; undefined if the session has none with this sequence. Throws a `StorageError` for what is no record. */
export function recordAt(reader: StoreReader, session_id: string, sequence: number): UnsealedRecord | undefined {
  return reader.record(session_id, sequence) === undefined ? undefined : keptRecord(reader, session_id, sequence);
}

/** The tickets that a record is about, or moved: a plan makes them before anything is about one. */
export function ticketsIn({ record: { ticket_id, effects = [] } }: LogRecord): string[] {
  return [...(ticket_id === undefined ? [] : [ticket_id]), ...effects.map((effect) => effect.ticket_id)];
}

/** What a session was opened with, by its first record; undefined if it was never begun. */
export function openedWith(reader: StoreReader, session_id: string): PayloadByType["session_opened"] | undefined {
  return recordAt(reader, session_id, 1)?.payload as unknown as PayloadByType["session_opened"] | undefined;
}

/** How long a session's agents get to end when it is stopped, in seconds; the default for one that was never begun. */
export function killGraceOf(reader: StoreReader, session_id: string): number {
  return (openedWith(reader, session_id)?.config ?? CONFIGURATION_DEFAULTS).kill_grace_s;
}

/** What the engine has counted, and how the session was last left. */
export function figuresOf(reader: StoreReader, session_id: string): LedgerFigures | undefined {
  return valueOf(reader, session_id, "figures", "figures");
}
