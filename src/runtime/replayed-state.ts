import { dirname } from "node:path";
import { advance, type Engine } from "../kernel/engine.ts";
import { emptyLedger, type Ledger, RUNTIME_COLLECTIONS } from "../kernel/ledger.ts";
import type { Mode } from "../kernel/mode.ts";
import { canonicalJson } from "../lib/canonical.ts";
import type { Json } from "../lib/json.ts";
import type { LogRecord } from "../protocol/record.ts";
import { verificationFailed } from "../store/failures.ts";
import { StorageError } from "../store/storage-error.ts";
import type { SessionRow, StateRow, StoredSession, StoreReader } from "../store/store.ts";
import { checkRecords } from "./checked-records.ts";
import { sessionPaths } from "./paths.ts";
import { factIn } from "./replay.ts";
import { stateIn } from "./stored-state.ts";

/** The state that the facts of a log lead to. */
export interface ReplayedState<S> {
  readonly engine: Engine<S>;
  /** Its rows, by collection and id, with the records that wrote them last. */
  readonly rows: ReadonlyMap<string, StateRow & { readonly sequence: number }>;
}

/** Replays the facts of a whole log; undefined if other rules made it. The records must have been checked. */
export function replayState<S>(mode: Mode<S>, lines: Iterable<string>): ReplayedState<S> | undefined {
  const engine: Engine<S> = { mode, state: mode.empty(), ledger: emptyLedger() };
  const rows = new Map<string, StateRow & { readonly sequence: number }>();
  let sequence = 0;
  for (const line of lines) {
    const record = JSON.parse(line) as LogRecord;
    sequence += 1;
    if (sequence === 1 && (record.payload.mode !== mode.name || record.payload.rules !== mode.rules)) return undefined;
    const fact = factIn(sequence, record);
    for (const change of fact ? advance(engine, fact).changes : []) {
      const collection = "put" in change ? change.put : change.drop;
      const { id } = change;
      if ("put" in change) rows.set(keyOf(change.put, id), { collection, id, value: change.value, sequence });
      else rows.delete(keyOf(collection, id));
    }
  }
  return { engine, rows };
}

/**
 * Checks the records of a stored session and, unless a process is writing it, its state. Throws a `StorageError`, `verification_failed`, that
 * names the first difference.
 */
export async function checkSession(
  reader: StoreReader,
  row: SessionRow,
  mode: Mode<unknown> | undefined,
): Promise<void> {
  const { session_id } = row;
  checkRecords(reader, row, sessionPaths(dirname(reader.location), session_id).log);
  const stored = await reader.load(session_id);
  if (mode && stored.ok && row.last_sequence > 0 && reader.holder(session_id) === undefined)
    checkedState(reader, stored.value, mode);
}

/**
 * The state of a stored session, whose records have been checked. Throws a `StorageError`, `verification_failed`, if it is not what they lead to.
 * A session that other rules made is taken as it is stored.
 */
export function checkedState<S>(
  store: StoreReader,
  stored: StoredSession,
  mode: Mode<S>,
): { readonly state: S; readonly ledger: Ledger } {
  const { session_id, last_sequence } = stored.session;
  const replayed = replayState(mode, store.records(session_id, 1, last_sequence));
  if (replayed === undefined) return stateIn(stored, mode);
  const differs = (collection: string, id: string, sequence: number | null) => {
    const what = `the state of ${collection} ${id} is not what ${sequence === null ? "any record" : `record ${sequence}`} left`;
    return new StorageError(verificationFailed(store.location, session_id, what, sequence));
  };
  const left = new Map(replayed.rows);
  for (const { collection, id, value } of stored.rows()) {
    // What the runtime keeps for itself follows from no record.
    if (RUNTIME_COLLECTIONS.has(collection)) continue;
    const row = left.get(keyOf(collection, id));
    if (row === undefined || !same(value, row.value)) throw differs(collection, id, row?.sequence ?? null);
    left.delete(keyOf(collection, id));
  }
  for (const { collection, id, sequence } of left.values()) throw differs(collection, id, sequence);
  return replayed.engine;
}

/** Records have their members in canonical order, which values that were taken from an agent's message need not have. */
function same(stored: Json, replayed: Json): boolean {
  return JSON.stringify(stored) === JSON.stringify(replayed) || canonicalJson(stored) === canonicalJson(replayed);
}

function keyOf(collection: string, id: string): string {
  return `${collection}\0${id}`;
}
