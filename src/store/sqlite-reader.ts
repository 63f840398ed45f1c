import { err, ok } from "../lib/result.ts";
import { type Database, databasePath } from "./database.ts";
import { recordLost } from "./failures.ts";
import { isLocked, lockPath, ownerBehind } from "./lock.ts";
import type { Queries } from "./queries.ts";
import { unknownSession } from "./sessions.ts";
import { StorageError } from "./storage-error.ts";
import { guarded, reading, readingEach } from "./storage-failure.ts";
import { isTrashed } from "./trash.ts";
import type { StoredSession, StoreReader } from "./store.ts";

/** A reader on a connection. `queries` belong to that connection, whose owner may also write with them. */
export function readerOn(home: string, database: Database, queries: Queries): StoreReader {
  const { sessions, records, state, inbox, artifacts } = queries;
  // The connection's own name is wrong for a copy in memory.
  const file = databasePath(home);
  // No session has the key 0, so queries for an unknown session find nothing.
  const keys = new Map<string, number>();
  const keyOf = (session_id: string): number => {
    const known = keys.get(session_id);
    if (known !== undefined) return known;
    const key = sessions.key(session_id) ?? 0;
    if (key !== 0) keys.set(session_id, key);
    return key;
  };
  /** Looks up each record separately: an open statement would keep the owner's connection, which alternates reads and commits, from writing. */
  function* range<T>(
    at: (key: number, sequence: number) => T | undefined,
    session_id: string,
    from: number,
    to = Number.MAX_SAFE_INTEGER,
  ): IterableIterator<T> {
    const key = keyOf(session_id);
    for (let sequence = from; sequence <= to; sequence++) {
      let found = at(key, sequence);
      if (found === undefined) {
        if (sequence > (sessions.byId(session_id)?.last_sequence ?? 0)) return;
        // It may have been committed between the two lookups.
        found = at(key, sequence);
      }
      if (found === undefined) throw new StorageError(recordLost(file, session_id, sequence));
      yield found;
    }
  }
  return {
    location: file,
    async snapshot(read) {
      if (!database.readonly || database.inTransaction) return read();
      reading(file, () => database.exec("BEGIN"));
      try {
        return await read();
      } finally {
        // Some errors have already ended the transaction.
        if (database.inTransaction) reading(file, () => database.exec("COMMIT"));
      }
    },
    async load(session_id) {
      return guarded<StoredSession>(file, () => {
        const session = sessions.byId(session_id);
        if (session === undefined) return err(unknownSession(session_id));
        const key = keyOf(session.session_id);
        const { last_sequence, head } = session;
        // A file that was truncated, or copied during a write, most likely lacks the last writes.
        if (last_sequence > 0 && records.sealed(key, last_sequence)?.hash !== head)
          return err(recordLost(file, session_id, last_sequence));
        return ok({ session, rows: (collection, digest) => readingEach(file, state.rows(key, collection, digest)) });
      });
    },
    record: (session_id, sequence) => reading(file, () => records.line(keyOf(session_id), sequence)),
    payloadType: (session_id, sequence) => reading(file, () => records.payloadType(keyOf(session_id), sequence)),
    newest: (session_id, types, subject) =>
      reading(file, () => records.newest(keyOf(session_id), types, subject ?? null)),
    records: (session_id, from, to) => readingEach(file, range(records.line, session_id, from, to)),
    sealed: (session_id, from, to) => readingEach(file, range(records.sealed, session_id, from, to)),
    sessions: (filter = {}) =>
      reading(file, () => {
        const isGone = isTrashed(home);
        return sessions.list(filter).filter((row) => !isGone(row));
      }),
    session: (id_or_prefix) => guarded(file, () => sessions.find(id_or_prefix, isTrashed(home))),
    holder(session_id) {
      const session = reading(file, () => sessions.byId(session_id));
      if (session === undefined) return undefined;
      const lock = lockPath(home, session.session_id);
      if (!reading(lock, () => isLocked(lock))) return undefined;
      return reading(file, () => ownerBehind(lock, () => sessions.owner(session_id)));
    },
    value: (session_id, collection, id) => reading(file, () => state.value(keyOf(session_id), collection, id)),
    artifacts: (session_id) => reading(file, () => artifacts.bySession(keyOf(session_id))),
    inbox: { pending: (session_id) => reading(file, () => inbox.pending(keyOf(session_id))) },
    version: () => reading(file, () => database.pragma("data_version", { simple: true }) as number),
    close: () => void database.close(),
  };
}
