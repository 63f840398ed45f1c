import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { failure, type Failure } from "../protocol/failure.ts";
import type { Actor } from "../protocol/record.ts";
import { artifactQueries } from "./artifacts.ts";
import { type Database, guarded, openForReading, openForWriting, write } from "./database.ts";
import { inboxQueries } from "./inbox.ts";
import { isLocked, type Lock, lockPath, takeLock } from "./lock.ts";
import { bundledMigrations, migrate, standing } from "./migrate.ts";
import { recordQueries } from "./records.ts";
import { checkSessionId, sessionQueries, unknownSession } from "./sessions.ts";
import { stateQueries } from "./state.ts";
import type { Commit, Lease, Owner, Store, StoredSession, StoreReader } from "./store.ts";

/**
 * Opens the store of a home, making home and database if need be. Failures: `storage`, `storage_full`, `newer_database`.
 */
export function openStore(home: string): Result<Store, Failure> {
  const database = openForWriting(home);
  if (!database.ok) return database;
  const migrated = guarded(database.value.name, () => migrate(database.value, bundledMigrations()));
  if (migrated.ok) return ok(storeOn(home, database.value));
  database.value.close();
  return migrated;
}

/**
 * Opens the store of a home for looking only. A database that an older version left is brought up to date first. Failures:
 * `not_found` if the home has no database, else as `openStore`.
 */
export function openReader(home: string): Result<StoreReader, Failure> {
  const database = openForReading(home);
  if (!database.ok) return database;
  const migrations = bundledMigrations();
  const standingNow = guarded(database.value.name, () => standing(database.value, migrations));
  if (standingNow.ok && standingNow.value === migrations.length)
    return ok(readerOn(home, database.value, queriesOn(database.value)));
  database.value.close();
  if (!standingNow.ok) return standingNow;
  const updated = openStore(home);
  if (!updated.ok) return updated;
  updated.value.close();
  return openReader(home);
}

type Queries = ReturnType<typeof queriesOn>;

/** The queries of one connection, prepared once. */
function queriesOn(database: Database) {
  return {
    sessions: sessionQueries(database),
    records: recordQueries(database),
    state: stateQueries(database),
    inbox: inboxQueries(database),
    artifacts: artifactQueries(database),
  };
}

function readerOn(home: string, database: Database, queries: Queries): StoreReader {
  const { sessions, records, state, inbox, artifacts } = queries;
  // No session has the key 0, so whatever is asked of an unknown one is empty.
  const keys = new Map<string, number>();
  const keyOf = (session_id: string): number => {
    const known = keys.get(session_id);
    if (known !== undefined) return known;
    const key = sessions.key(session_id) ?? 0;
    if (key !== 0) keys.set(session_id, key);
    return key;
  };
  return {
    async load(session_id) {
      return guarded<StoredSession>(database.name, () => {
        const session = sessions.byId(session_id);
        if (session === undefined) return err(unknownSession(session_id));
        return ok({ session, rows: (collection) => state.rows(keyOf(session_id), collection) });
      });
    },
    record: (session_id, sequence) => records.line(keyOf(session_id), sequence),
    records: (session_id, from, to) => records.lines(keyOf(session_id), from, to),
    sealed: (session_id, from, to) => records.sealed(keyOf(session_id), from, to),
    sessions: (filter = {}) => sessions.list(filter),
    session: (id_or_prefix) => guarded(database.name, () => sessions.find(id_or_prefix)),
    holder(session_id) {
      const session = sessions.byId(session_id);
      if (session === undefined || !isLocked(lockPath(home, session.session_id))) return undefined;
      return sessions.owner(session_id);
    },
    value: (session_id, collection, id) => state.value(keyOf(session_id), collection, id),
    artifacts: (session_id) => artifacts.bySession(keyOf(session_id)),
    inbox: { pending: (session_id) => inbox.pending(keyOf(session_id)) },
    version: () => database.pragma("data_version", { simple: true }) as number,
    close: () => void database.close(),
  };
}

/** A session this process holds. */
interface Held {
  readonly lease: Lease;
  readonly key: number;
  readonly lock: Lock;
}

/** The store on a connection that is open for writing and migrated; it closes the connection when it is closed. */
export function storeOn(home: string, database: Database): Store {
  const queries = queriesOn(database);
  const { sessions, inbox } = queries;
  const reader = readerOn(home, database, queries);
  const held = new Map<string, Held>();
  // SQLite's own version does not count what this connection writes, and a person at this terminal puts things too.
  let puts = 0;

  function acquire(session_id: string, owner: Owner): Result<Lease, Failure> {
    const session = sessions.byId(session_id);
    const key = sessions.key(session_id);
    if (session === undefined || key === undefined) return err(unknownSession(session_id));
    const lock = takeLock(lockPath(home, session.session_id));
    if (!lock.ok) return lock;
    if (lock.value === null) return err(busy(session.session_id, sessions.owner(session_id)));
    const epoch = write(database, () => ok(sessions.take(key, owner)));
    if (!epoch.ok) {
      lock.value.release();
      return epoch;
    }
    const lease = { session_id: session.session_id, epoch: epoch.value };
    held.set(lease.session_id, { lease, key, lock: lock.value });
    return ok(lease);
  }

  function release({ lease, key, lock }: Held): void {
    held.delete(lease.session_id);
    // Who held it is only a courtesy to people; the lock is what counts, and it must go whatever the disk says.
    write(database, () => ok(sessions.leave(key, lease.epoch)));
    lock.release();
  }

  function put(session_id: string, body: JsonObject, actor: Actor): Result<number, Failure> {
    return write(database, () => {
      const key = sessions.key(session_id);
      if (key === undefined) return err(unknownSession(session_id));
      puts += 1;
      return ok(inbox.put(key, body, actor));
    });
  }

  const holding = (lease: Lease): Held | undefined => {
    const found = held.get(lease.session_id);
    return found?.lease.epoch === lease.epoch ? found : undefined;
  };

  return {
    ...reader,
    async create(session) {
      const named = checkSessionId(session.session_id);
      if (!named.ok) return named;
      return write(database, () => (sessions.insert(session) ? ok(undefined) : err(taken(session.session_id))));
    },
    acquire: async (session_id, owner) => guarded(database.name, () => acquire(session_id, owner)),
    async release(lease) {
      const mine = holding(lease);
      if (mine !== undefined) release(mine);
    },
    async commit(lease, commit) {
      const mine = holding(lease);
      if (mine === undefined) return err(stale(lease.session_id));
      return write(database, () => apply(queries, mine, commit));
    },
    inbox: { ...reader.inbox, put: async (session_id, body, actor) => put(session_id, body, actor) },
    version: () => reader.version() + puts,
    close() {
      for (const session of [...held.values()]) release(session);
      reader.close();
    },
  };
}

function apply(queries: Queries, { lease, key }: Held, commit: Commit): Result<void, Failure> {
  const { expected, records, changes, session, artifacts = [], taken = [] } = commit;
  const last_sequence = lastSequence(commit);
  const head = records.at(-1)?.hash ?? null;
  const mine = queries.sessions.advance({ session: key, epoch: lease.epoch, expected, last_sequence, head });
  if (!mine) return err(stale(lease.session_id));
  for (const record of records) queries.records.insert(key, record);
  queries.state.apply(key, changes);
  if (session !== undefined) queries.sessions.change(key, session);
  for (const artifact of artifacts) queries.artifacts.insert(key, artifact);
  queries.inbox.take(key, taken);
  return ok(undefined);
}

/** A gap would make a log that no one can verify again, so it is a bug of the caller and not a failure. */
function lastSequence({ expected, records }: Commit): number {
  let sequence = expected;
  for (const record of records) {
    sequence += 1;
    if (record.sequence !== sequence)
      throw new Error(`Record ${record.sequence} was committed where ${sequence} belongs.`);
  }
  return sequence;
}

function busy(session_id: string, owner: Owner | undefined): Failure {
  const holder =
    owner === undefined ? "another process" : `process ${owner.pid} on ${owner.host} since ${owner.started_at}`;
  return failure("busy", `The session ${session_id} is held by ${holder}.`, {
    hint: `Watch it with \`bosun attach ${session_id}\`, or end that process and try again.`,
    ...(owner === undefined ? {} : { details: { pid: owner.pid, host: owner.host, started_at: owner.started_at } }),
  });
}

function taken(session_id: string): Failure {
  return failure("busy", `There is a session ${session_id} already.`, {
    hint: `Go on with \`bosun resume ${session_id}\`, or choose another id.`,
  });
}

function stale(session_id: string): Failure {
  return failure("stale_lease", `The session ${session_id} is no longer this process's to write.`, {
    hint: `Another process took it over; \`bosun status ${session_id}\` tells which.`,
  });
}
