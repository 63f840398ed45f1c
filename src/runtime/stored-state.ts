import type { Engine } from "../kernel/engine.ts";
import { applyToLedger, emptyLedger, type Ledger, LEDGER_COLLECTIONS, RUNTIME_COLLECTIONS } from "../kernel/ledger.ts";
import type { Mode, ModeReader } from "../kernel/mode.ts";
import type { StoredSession } from "../store/store.ts";

/** An engine before its first fact. */
export function emptyEngine<S>(mode: Mode<S>): Engine<S> {
  return { mode, state: mode.empty(), ledger: emptyLedger() };
}

/** The values of a collection of a stored session, by id. */
export function valuesOf<T>(stored: Pick<StoredSession, "rows">, collection: string): Map<string, T> {
  return new Map(Array.from(stored.rows(collection), ({ id, value }) => [id, value as unknown as T]));
}

/** The state and the ledger of a stored session. */
export function stateIn<S>(
  stored: Pick<StoredSession, "rows">,
  mode: ModeReader<S>,
): { readonly state: S; readonly ledger: Ledger } {
  const state = mode.empty();
  const ledger = emptyLedger();
  for (const { collection, id, value } of stored.rows()) {
    if (LEDGER_COLLECTIONS.has(collection)) applyToLedger(ledger, { put: collection, id, value });
    else if (!RUNTIME_COLLECTIONS.has(collection)) mode.apply(state, { put: collection, id, value });
  }
  return { state, ledger };
}
