import type { Engine } from "../kernel/engine.ts";
import { applyToLedger, emptyLedger, LEDGER_COLLECTIONS, RUNTIME_COLLECTIONS } from "../kernel/ledger.ts";
import type { Change, Mode, ModeReader } from "../kernel/mode.ts";
import { withArticle } from "../lib/article.ts";
import { failure } from "../protocol/failure.ts";
import { StorageError } from "../store/storage-error.ts";
import type { StoredSession, StoreReader } from "../store/store.ts";

/** An engine before its first fact. */
export function emptyEngine<S>(mode: Mode<S>): Engine<S> {
  return { mode, state: mode.empty(), ledger: emptyLedger() };
}

export function valuesOf<T>(stored: Pick<StoredSession, "rows">, collection: string): Map<string, T> {
  return new Map(Array.from(stored.rows(collection), ({ id, value }) => [id, value as unknown as T]));
}

const VERSION = { put: "rows", id: "version" } as const;

/** Stores the version of a mode's rows with a session. Version 1 is stored as no row. */
export function rowsVersion({ rows = 1 }: Pick<ModeReader<unknown>, "rows">): Change {
  return rows === 1 ? { drop: VERSION.put, id: VERSION.id } : { ...VERSION, value: rows };
}

/** Whether the rows of a session have the mode's version. Throws a `StorageError`, `newer_database`, if they have a later one. */
export function hasRowsOf(
  { name, rows = 1 }: Pick<ModeReader<unknown>, "name" | "rows">,
  reader: Pick<StoreReader, "value">,
  session_id: string,
): boolean {
  const stored = (reader.value(session_id, VERSION.put, VERSION.id) ?? 1) as number;
  if (stored <= rows) return stored === rows;
  const versions = `version ${stored} of the rows of ${withArticle(name)}; this one knows ${rows}`;
  throw new StorageError(
    failure("newer_database", `The session ${session_id} was written by a newer Bosun (${versions}).`, {
      hint: "Update Bosun with `npm install -g bosun`.",
    }),
  );
}

export type StoredState<S> = Pick<Engine<S>, "state" | "ledger">;

/** The state of a stored session, whose rows have the mode's version. */
export function stateIn<S>(stored: Pick<StoredSession, "rows">, mode: ModeReader<S>): StoredState<S> {
  const state = mode.empty();
  const ledger = emptyLedger();
  for (const { collection, id, value } of stored.rows()) {
    if (LEDGER_COLLECTIONS.has(collection)) applyToLedger(ledger, { put: collection, id, value });
    else if (!RUNTIME_COLLECTIONS.has(collection)) mode.apply(state, { put: collection, id, value });
  }
  return { state, ledger };
}
