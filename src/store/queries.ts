import type { JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Actor, SealedRecord } from "../protocol/record.ts";
import type { Database } from "./database.ts";
import { sessionQueries } from "./sessions.ts";
import { stateQueries } from "./state.ts";
import type { ArtifactRow, InboxRow, TakenRow } from "./store.ts";

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
  return {
    insert(session: number, record: SealedRecord): void {
      insert.run(session, record.sequence, record.payload_type, record.subject ?? null, record.hash, record.line);
    },
    payloadType: (session: number, sequence: number): string | undefined => payloadType.get(session, sequence),
    line: (session: number, sequence: number): string | undefined => line.get(session, sequence),
    sealed: (session: number, sequence: number): SealedRecord | undefined => {
      const row = sealed.get(session, sequence);
      if (row === undefined) return undefined;
      const { subject, ...rest } = row;
      return { ...rest, ...(subject === null ? {} : { subject }) };
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
      bySession.all(session).map(({ subject, content_type, ...rest }) => ({
        ...rest,
        ...(subject === null ? {} : { subject }),
        ...(content_type === null ? {} : { content_type }),
      })),
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
