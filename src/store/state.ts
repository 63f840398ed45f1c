import type { Hash } from "node:crypto";
import { RUNTIME_COLLECTIONS } from "../kernel/ledger.ts";
import type { Change } from "../kernel/mode.ts";
import type { Json } from "../lib/json.ts";
import type { Database } from "./database.ts";
import type { StateRow } from "./store.ts";

type Digest = Pick<Hash, "update">;

/** Number of rows fetched at once. */
const PAGE_ROWS = 250;

/** The queries of `state`: values by collection and id. */
export function stateQueries(database: Database) {
  const put = database.prepare<[number, string, string, string]>(
    `INSERT INTO state (session, collection, id, value) VALUES (?, ?, ?, ?)
     ON CONFLICT (session, collection, id) DO UPDATE SET value = excluded.value`,
  );
  const drop = database.prepare<[number, string, string]>(
    "DELETE FROM state WHERE session = ? AND collection = ? AND id = ?",
  );
  const one = database
    .prepare<[number, string, string], string>(
      "SELECT value FROM state WHERE session = ? AND collection = ? AND id = ?",
    )
    .pluck();
  const nextCollection = database
    .prepare<[number, string], string | null>("SELECT min(collection) FROM state WHERE session = ? AND collection >= ?")
    .pluck();
  const page = database
    .prepare<[number, string, string, number], [ids: string, values: string]>(
      `SELECT json_group_array(id), '[' || coalesce(group_concat(value), '') || ']' FROM
         (SELECT id, value FROM state WHERE session = ? AND collection = ? AND id >= ? ORDER BY id LIMIT ?)`,
    )
    .raw();

  /**
   * Reads in pages, since an open statement would keep its connection from writing. Each page is one JSON text, which is faster to read than
   * one text per row.
   */
  function* rowsOf(session: number, collection: string, digest?: Digest): IterableIterator<StateRow> {
    const taking = RUNTIME_COLLECTIONS.has(collection) ? undefined : digest?.update(JSON.stringify(collection));
    let from = "";
    for (;;) {
      // An aggregate always returns a row.
      const [idsText, valuesText] = page.get(session, collection, from, PAGE_ROWS) as [string, string];
      taking?.update(idsText).update(valuesText);
      const ids = JSON.parse(idsText) as string[];
      const values = JSON.parse(valuesText) as Json[];
      if (ids.length !== values.length) throw new SyntaxError(`a value of "${collection}" is not one JSON value`);
      let id = "";
      for (let index = 0; index < ids.length; index++) {
        id = ids[index] as string;
        yield { collection, id, value: values[index] as Json };
      }
      if (ids.length < PAGE_ROWS) return;
      from = after(id);
    }
  }

  function* allRows(session: number, digest?: Digest): IterableIterator<StateRow> {
    let collection = nextCollection.get(session, "");
    while (typeof collection === "string") {
      yield* rowsOf(session, collection, digest);
      collection = nextCollection.get(session, after(collection));
    }
  }

  return {
    /** Applies changes in order; writes only the last change of each value. */
    apply(session: number, changes: readonly Change[]): void {
      for (const change of lastOfEach(changes)) {
        if ("put" in change) put.run(session, change.put, change.id, JSON.stringify(change.value));
        else drop.run(session, change.drop, change.id);
      }
    },
    value(session: number, collection: string, id: string): Json | undefined {
      const text = one.get(session, collection, id);
      return text === undefined ? undefined : (JSON.parse(text) as Json);
    },
    rows: (session: number, collection?: string, digest?: Digest): IterableIterator<StateRow> =>
      collection === undefined ? allRows(session, digest) : rowsOf(session, collection, digest),
  };
}

/** The text that sorts directly after another. */
function after(text: string): string {
  return `${text}\0`;
}

function lastOfEach(changes: readonly Change[]): Iterable<Change> {
  if (changes.length < 2) return changes;
  const last = new Map<string, Change>();
  for (const change of changes) last.set(`${"put" in change ? change.put : change.drop}\0${change.id}`, change);
  return last.values();
}
