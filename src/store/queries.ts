import type { Hash } from "node:crypto";
import { RUNTIME_COLLECTIONS } from "../kernel/ledger.ts";
import type { Change } from "../kernel/mode.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Actor, SealedRecord } from "../protocol/record.ts";
import type { Database } from "./database.ts";
import { sessionQueries } from "./sessions.ts";
import type { ArtifactRow, InboxRow, StateRow, TakenRow } from "./store.ts";

export type Queries = ReturnType<typeof queriesOn>;

/** The queries of one connection, prepared once. Sessions are given by their integer keys. */
export function queriesOn(database: Database) {
  return {
    sessions: sessionQueries(database),
    records: recordQueries(database),
    state: stateQueries(database),
    inbox: inboxQueries(database),
    artifacts: artifactQueries(database),
  };
}

function recordQueries(database: Database) {
  const insert = database.prepare<[number, number, string, string | null, string, string]>(
    "INSERT INTO records (session, sequence, payload_type, subject, hash, line) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const payloadType = database
    .prepare<[number, number], string>("SELECT payload_type FROM records WHERE session = ? AND sequence = ?")
    .pluck();
  const line = database
    .prepare<[number, number], string>("SELECT line FROM records WHERE session = ? AND sequence = ?")
    .pluck();
  const sealed = database.prepare<[number, number], Nullable<SealedRecord, "subject">>(
    "SELECT sequence, payload_type, subject, hash, line FROM records WHERE session = ? AND sequence = ?",
  );
  const newest = database
    .prepare<[number, string, string | null, string | null], string>(
      `SELECT line FROM records
      WHERE session = ? AND payload_type IN (SELECT value FROM json_each(?)) AND (? IS NULL OR subject = ?)
      ORDER BY sequence DESC LIMIT 50`,
    )
    .pluck();
  return {
    insert(session: number, record: SealedRecord): void {
      insert.run(session, record.sequence, record.payload_type, record.subject ?? null, record.hash, record.line);
    },
    payloadType: (session: number, sequence: number): string | undefined => payloadType.get(session, sequence),
    line: (session: number, sequence: number): string | undefined => line.get(session, sequence),
    newest: (session: number, types: readonly string[], subject: string | null): string[] =>
      newest.all(session, JSON.stringify(types), subject, subject),
    sealed: (session: number, sequence: number): SealedRecord | undefined => {
      const row = sealed.get(session, sequence);
      return row && withoutNulls<SealedRecord, "subject">(row);
    },
  };
}

function artifactQueries(database: Database) {
  type Row = Nullable<ArtifactRow, "subject" | "content_type">;
  const insert = database.prepare<[Row & { session: number }]>(
    `INSERT INTO artifacts (session, sequence, subject, label, uri, path, digest, size_bytes, content_type)
     VALUES (:session, :sequence, :subject, :label, :uri, :path, :digest, :size_bytes, :content_type)`,
  );
  const bySession = database.prepare<[number], Row>(
    `SELECT sequence, subject, label, uri, path, digest, size_bytes, content_type FROM artifacts
     WHERE session = ? ORDER BY sequence, artifact`,
  );
  return {
    insert(session: number, artifact: ArtifactRow): void {
      const { subject = null, content_type = null } = artifact;
      insert.run({ ...artifact, session, subject, content_type });
    },
    bySession: (session: number): ArtifactRow[] =>
      bySession.all(session).map((row) => withoutNulls<ArtifactRow, "subject" | "content_type">(row)),
  };
}

function inboxQueries(database: Database) {
  const put = database.prepare<[number, string, string]>(
    "INSERT INTO inbox (session, body, actor, put_at) VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))",
  );
  const pending = database.prepare<[number], { id: number; body: string; actor: string }>(
    "SELECT id, body, actor FROM inbox WHERE session = ? ORDER BY id",
  );
  const waits = database.prepare<[number, number]>("SELECT 1 FROM inbox WHERE session = ? AND id = ?");
  const remove = database.prepare<[number, number]>("DELETE FROM inbox WHERE session = ? AND id = ?");
  return {
    put: (session: number, body: JsonObject, actor: Actor): number =>
      Number(put.run(session, JSON.stringify(body), JSON.stringify(actor)).lastInsertRowid),
    pending: (session: number): InboxRow[] =>
      pending.all(session).map(({ id, body, actor }) => ({
        id,
        body: JSON.parse(body) as JsonObject,
        actor: JSON.parse(actor) as Actor,
      })),
    // Statements on outcomes are prepared for each call: a reader's database may be older than their table.
    take(session: number, taken: readonly TakenRow[]): void {
      for (const { id, sequence, refusal } of taken) {
        const why = refusal === undefined ? null : JSON.stringify(refusal);
        if (remove.run(session, id).changes > 0)
          database.prepare("INSERT INTO inbox_outcomes VALUES (?, ?, ?, ?)").run(session, id, sequence, why);
      }
    },
    outcome(session: number, id: number): Partial<TakenRow> | undefined {
      if (waits.get(session, id) !== undefined) return undefined;
      const { refusal, ...taken } =
        database
          .prepare<[number, number], Omit<TakenRow, "refusal"> & { refusal: string | null }>(
            "SELECT id, sequence, refusal FROM inbox_outcomes WHERE session = ? AND id = ?",
          )
          .get(session, id) ?? {};
      return refusal ? { ...taken, refusal: JSON.parse(refusal) as Failure } : taken;
    },
  };
}

/** A row with null in place of absent optional fields. */
type Nullable<T, K extends keyof T> = Omit<T, K> & { readonly [key in K]: NonNullable<T[K]> | null };

function withoutNulls<T, K extends keyof T>(row: Nullable<T, K>): T {
  const values = row as Readonly<Record<string, unknown>>;
  const known: Record<string, unknown> = {};
  for (const name in values) if (values[name] !== null) known[name] = values[name];
  return known as T;
}

type Digest = Pick<Hash, "update">;

/** Number of rows fetched at once. */
const PAGE_ROWS = 250;

/** The queries of `state`: values by collection and id. */
function stateQueries(database: Database) {
  const put = database.prepare<[number, string, string, string]>(
    `INSERT INTO main.state (session, collection, id, value) VALUES (?, ?, ?, ?)
     ON CONFLICT (session, collection, id) DO UPDATE SET value = excluded.value`,
  );
  const drop = database.prepare<[number, string, string]>(
    "DELETE FROM main.state WHERE session = ? AND collection = ? AND id = ?",
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
