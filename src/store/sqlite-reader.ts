import { err, ok } from "../lib/result.ts";
import { artifactQueries } from "./artifacts.ts";
import { type Database, databasePath, guarded, reading, readingEach } from "./database.ts";
import { incomplete, lost } from "./failures.ts";
import { inboxQueries } from "./inbox.ts";
import { isLocked, lockPath, ownerBehind } from "./lock.ts";
import { recordQueries } from "./records.ts";
import { sessionQueries, unknownSession } from "./sessions.ts";
import { stateQueries } from "./state.ts";
import { StorageError } from "./storage-error.ts";
import type { StoredSession, StoreReader } from "./store.ts";

export type Queries = ReturnType<typeof queriesOn>;

/** The queries of one connection, prepared once. */
export function queriesOn(database: Database) {
  return {
    sessions: sessionQueries(database),
    records: recordQueries(database),
    state: stateQueries(database),
    inbox: inboxQueries(database),
    artifacts: artifactQueries(database),
  };
}

/** What can be read through a connection, whoever else writes; its own queries are given since their owner may write with them. */
export function readerOn(home: string, database: Database, queries: Queries): StoreReader {
  const { sessions, records, state, inbox, artifacts } = queries;
  // Not the connection's name: where nothing can be written it is one to a copy in memory.
  const file = databasePath(home);
  // No session has the key 0, so whatever is asked of an unknown one is empty.
  const keys = new Map<string, number>();
  const keyOf = (session_id: string): number => {
    const known = keys.get(session_id);
    if (known !== undefined) return known;
    const key = sessions.key(session_id) ?? 0;
    if (key !== 0) keys.set(session_id, key);
    return key;
  };
  /**
   * One lookup for each record, and no statement left open between them: a connection that iterates cannot write, and the owner
   * commits while others read.
   */
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
        // It may have been committed between these two looks.
        found = at(key, sequence);
      }
      if (found === undefined) throw new StorageError(lost(file, session_id, sequence));
      yield found;
    }
  }
  return {
    place: file,
    async moment(look) {
      if (!database.readonly || database.inTransaction) return look();
      reading(file, () => database.exec("BEGIN"));
      try {
        return await look();
      } finally {
        // Some errors have ended it already.
        if (database.inTransaction) reading(file, () => database.exec("COMMIT"));
      }
    },
    async load(session_id) {
      return guarded<StoredSession>(file, () => {
        const session = sessions.byId(session_id);
        if (session === undefined) return err(unknownSession(session_id));
        const key = keyOf(session.session_id);
        const { last_sequence, head } = session;
        // What a file that was cut, or put together from two moments, lacks first is what was written last.
        if (last_sequence > 0 && records.sealed(key, last_sequence)?.hash !== head)
          return err(incomplete(file, session));
        return ok({ session, rows: (collection) => readingEach(file, state.rows(key, collection)) });
      });
    },
    record: (session_id, sequence) => reading(file, () => records.line(keyOf(session_id), sequence)),
    payloadType: (session_id, sequence) => reading(file, () => records.payloadType(keyOf(session_id), sequence)),
    records: (session_id, from, to) => readingEach(file, range(records.line, session_id, from, to)),
    sealed: (session_id, from, to) => readingEach(file, range(records.sealed, session_id, from, to)),
    sessions: (filter = {}) => reading(file, () => sessions.list(filter)),
    session: (id_or_prefix) => guarded(file, () => sessions.find(id_or_prefix)),
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
