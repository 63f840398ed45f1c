import type { LedgerAsk, LedgerFigures } from "../../kernel/ledger.ts";
import { CONFIGURATION_DEFAULTS, type PayloadByType } from "../../protocol/payload.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { StoreReader } from "../../store/store.ts";

// Records and single values of a session of any mode.

export function askOf(reader: StoreReader, session_id: string, ask_id: string): LedgerAsk | undefined {
  return reader.value(session_id, "ask", ask_id) as unknown as LedgerAsk | undefined;
}

/** A stored record; undefined if there is none with this sequence. Throws a `StorageError` if it is damaged. */
export function recordAt(reader: StoreReader, session_id: string, sequence: number): UnsealedRecord | undefined {
  return reader.record(session_id, sequence) === undefined ? undefined : keptRecord(reader, session_id, sequence);
}

/** The tickets that a record is about, or moves: a plan creates tickets before any record is about one. */
export function ticketsIn({ record: { ticket_id, effects = [] } }: LogRecord): string[] {
  return [...(ticket_id === undefined ? [] : [ticket_id]), ...effects.map((effect) => effect.ticket_id)];
}

/** The payload of the first record; undefined if the session was never begun. */
export function openedWith(reader: StoreReader, session_id: string): PayloadByType["session_opened"] | undefined {
  return recordAt(reader, session_id, 1)?.payload as unknown as PayloadByType["session_opened"] | undefined;
}

/** Grace period for agents when the session is stopped, in seconds. */
export function killGraceOf(reader: StoreReader, session_id: string): number {
  return (openedWith(reader, session_id)?.config ?? CONFIGURATION_DEFAULTS).kill_grace_s;
}

/** The engine's counts, and how the session was last left. */
export function figuresOf(reader: StoreReader, session_id: string): LedgerFigures | undefined {
  return reader.value(session_id, "figures", "figures") as unknown as LedgerFigures | undefined;
}
