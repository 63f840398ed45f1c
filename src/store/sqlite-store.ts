import SqliteDatabase from "better-sqlite3";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, isOfStorage } from "../protocol/failure.ts";
import type { Actor } from "../protocol/record.ts";
import { type Database, databasePath, guarded, openForReading, openForWriting, write } from "./database.ts";
import { busy, notOurs, sharedHome, stale, taken } from "./failures.ts";
import { fileSystemOf, type Statfs } from "./file-system.ts";
import { type Lock, lockPath, ownerBehind, takeLock } from "./lock.ts";
import { bundledMigrations, migrate, standing } from "./migrate.ts";
import { watchPlace } from "./place.ts";
import { checkSessionId, unknownSession } from "./sessions.ts";
import { type Queries, queriesOn, readerOn } from "./sqlite-reader.ts";
import type { Commit, Lease, Owner, Store, StoreReader } from "./store.ts";

/** Whether a home may lie where machines share files; `statfs` answers in the system's place in tests. */
export interface SharedHome {
  readonly accept?: boolean;
  readonly statfs?: Statfs;
}

/**
 * Opens the store of a home, making home and database if need be. Failures: `storage`, `storage_full`, `newer_database`, and
 * `environment` for a home on a file system that cannot keep a database safe, unless that is accepted.
 */
export function openStore(home: string, shared: SharedHome = {}): Result<Store, Failure> {
  const { name, standing: stands } = fileSystemOf(home, shared.statfs);
  if (stands === "refused" && shared.accept !== true) return err(sharedHome(home, name));
  const database = openForWriting(home);
  if (!database.ok) return database;
  const opened = guardedOpening(database.value.name, () => {
    const migrated = migrate(database.value, bundledMigrations());
    return migrated.ok ? ok(storeOn(home, database.value)) : migrated;
  });
  if (!opened.ok) database.value.close();
  return opened;
}

/**
 * Opens the store of a home for looking only. A database that an older version left is brought up to date first, where `openStore`
 * would open it. Failures: `not_found` if the home has no database, else as `openStore`.
 */
export function openReader(home: string, shared: SharedHome = {}): Result<StoreReader, Failure> {
  const database = openForReading(home);
  if (!database.ok) return database;
  const migrations = bundledMigrations();
  const path = databasePath(home);
  const opened = guardedOpening<StoreReader | undefined>(path, () => {
    const standingNow = standing(database.value, migrations, path);
    if (!standingNow.ok) return standingNow;
    if (standingNow.value < migrations.length) return ok(undefined);
    return ok(readerOn(home, database.value, queriesOn(database.value)));
  });
  if (opened.ok && opened.value !== undefined) return ok(opened.value);
  database.value.close();
  if (!opened.ok) return opened;
  const updated = openStore(home, shared);
  if (!updated.ok) return updated;
  updated.value.close();
  return openReader(home, shared);
}

/** `guarded`, for the statements that a connection begins with: they fit the tables that the migrations make, so others are not ours. */
function guardedOpening<T>(path: string, open: () => Result<T, Failure>): Result<T, Failure> {
  return guarded(path, () => {
    try {
      return open();
    } catch (error) {
      if (!(error instanceof SqliteDatabase.SqliteError) || !OTHER_TABLES.test(error.message)) throw error;
      return err(notOurs(path, error.message));
    }
  });
}

const OTHER_TABLES = /^no such (?:table|column): |^table \w+ already exists$/;

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
  const isInPlace = watchPlace(database);
  const held = new Map<string, Held>();
  // SQLite's own version does not count what this connection writes, and a person at this terminal puts things too.
  let puts = 0;
  // Why a commit failed. After that no session is written through this connection: only who opens the file anew can tell what the disk
  // has taken of the transaction that it refused.
  let refused: Failure | undefined;

  function acquire(session_id: string, owner: Owner): Result<Lease, Failure> {
    const session = sessions.byId(session_id);
    const key = sessions.key(session_id);
    if (session === undefined || key === undefined) return err(unknownSession(session_id));
    const path = lockPath(home, session.session_id);
    const lock = takeLock(path);
    if (!lock.ok) return lock;
    if (lock.value === null) {
      const holder = ownerBehind(path, () => sessions.owner(session_id));
      return err(busy(session.session_id, holder));
    }
    crashPoint("lock_held");
    const epoch: Result<number, Failure> = refused
      ? err(refused)
      : write(database, () => ok(sessions.take(key, owner)));
    if (!epoch.ok) {
      lock.value.release();
      return epoch;
    }
    const lease = { session_id: session.session_id, epoch: epoch.value };
    held.set(lease.session_id, { lease, key, lock: lock.value });
    crashPoint("lock_taken");
    return ok(lease);
  }

  function release({ lease, key, lock }: Held): void {
    held.delete(lease.session_id);
    // Who held it is only a courtesy to people; the lock is what counts, and it must go whatever the disk says.
    if (refused === undefined) write(database, () => ok(sessions.leave(key, lease.epoch)));
    lock.release();
    crashPoint("lock_released");
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
      // A child's has the room for its number that is left free in its parent's.
      const named = checkSessionId(session.parent ?? session.session_id);
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
      if (refused) return err(refused);
      const committed = write(database, () => {
        const placed = isInPlace();
        if (!placed.ok) return placed;
        const applied = apply(queries, mine, commit);
        crashPoint("before_commit");
        return applied;
      });
      if (committed.ok) crashPoint("after_commit");
      else if (isOfStorage(committed.error)) refused = committed.error;
      return committed;
    },
    confirm(lease) {
      const mine = holding(lease);
      if (mine === undefined) return err(stale(lease.session_id));
      return guarded(database.name, () =>
        sessions.epoch(mine.key) === lease.epoch ? ok(undefined) : err(stale(lease.session_id)),
      );
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
  const { expected, records, changes, session = {}, artifacts = [], taken = [] } = commit;
  const last_sequence = lastSequence(commit);
  const head = records.at(-1)?.hash ?? null;
  const step = { session: key, epoch: lease.epoch, expected, last_sequence, head };
  const mine = queries.sessions.advance(step, session);
  if (!mine) return err(stale(lease.session_id));
  for (const record of records) queries.records.insert(key, record);
  queries.state.apply(key, changes);
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
