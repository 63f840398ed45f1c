import type { Mode } from "../../kernel/mode.ts";
import type { StoredSession, StoreReader } from "../../store/store.ts";
import { hasOtherRows, loadMode } from "./modes.ts";

/**
 * A stored session in rows of this version. Those of another version are made from its records, and only then are rules loaded. Throws a
 * `StorageError`, `environment`, if other rules made it.
 */
export async function readable(reader: StoreReader, stored: StoredSession): Promise<StoredSession> {
  if (!hasOtherRows(reader, stored.session)) return stored;
  const { replayedRows } = await import("../../runtime/replayed-state.ts");
  return replayedRows(reader, stored, (await loadMode(stored.session.mode)) as Mode<unknown>);
}
