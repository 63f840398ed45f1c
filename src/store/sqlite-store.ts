import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { type Failure, fails, type Fallible, isOfStorage } from "../protocol/failure.ts";
import type { Actor } from "../protocol/record.ts";
import {
  type Database,
  databasePath,
  noDatabase,
  openForReading,
  openForWriting,
  watchFiles,
  write,
} from "./database.ts";
import { ACCEPT_SHARED_HOME, busy, stale, taken } from "./failures.ts";
import { fileSystemOf, type Statfs } from "./file-system.ts";
import { type Lock, lockPath, ownerBehind, takeLock } from "./lock.ts";
import { appliedCount, bundledMigrations, migrate, showMigrated } from "./migrate.ts";
import { type Queries, queriesOn } from "./queries.ts";
import { checkSessionId, unknownSession } from "./sessions.ts";
import { readerOn } from "./sqlite-reader.ts";
import { guarded, reading } from "./storage-failure.ts";
import type { Commit, Lease, Owner, SessionRow, Store, StoreReader } from "./store.ts";

/** Whether a home on a shared file system is accepted; tests pass their own `statfs`. */
export interface SharedHome {
  readonly accept?: boolean;
  readonly statfs?: Statfs;
}

/**
 * Opens the store of a home. Creates the home and its database if they are missing, and migrates an older database. Fails with `storage`,
 * `storage_full`, `newer_database`, or `environment` for a home on a shared file system, unless that is accepted.
 */
export function openStore(home: string, shared: SharedHome = {}): Fallible<Store> {
  const { name, safety } = fileSystemOf(home, shared.statfs);
  if (safety === "unsafe" && shared.accept !== true) {
    const what = `The home ${home} is on ${name}, a shared file system on which database locks are not reliable.`;
    return fails("environment", what, {
      hint: `Put the home on a local disk with --home or BOSUN_HOME. If only this machine ever uses it, set ${ACCEPT_SHARED_HOME}=accept.`,
      details: { file_system: name },
    });
  }
  const database = openForWriting(home);
  if (!database.ok) return database;
  const opened = guarded(database.value.name, () => {
    const migrated = migrate(database.value, bundledMigrations());
    return migrated.ok ? ok(storeOn(home, database.value)) : migrated;
  });
  if (!opened.ok) database.value.close();
  return opened;
}

/**
 * Opens the store of a home for reading. An older database is not migrated, since the tables of every version can be read. A database that
 * another process has created but given no tables yet gets them, if `openStore` accepts the home. Fails with `not_found` if the home has no
 * database, else like `openStore`.
 */
export function openReader(home: string, shared: SharedHome = {}): Fallible<StoreReader> {
  const opened = readingOn(home);
  if (!opened.ok) return opened;
  if (opened.value !== undefined) return ok(opened.value);
  const made = openStore(home, shared);
  if (!made.ok) return made;
  made.value.close();
  return openReader(home, shared);
}

/** Like `openReader`, but creates no tables, and no files beside a database that nobody has open: for shell completion. */
export function openUntouched(home: string): Fallible<StoreReader> {
  const opened = readingOn(home, true);
  if (!opened.ok) return opened;
  return opened.value === undefined ? err(noDatabase(home)) : ok(opened.value);
}

/** A reader on a connection of its own; undefined if the database has no tables yet. */
function readingOn(home: string, untouched = false): Fallible<StoreReader | undefined> {
  const database = openForReading(home, untouched);
  if (!database.ok) return database;
  const path = databasePath(home);
  const opened = guarded(path, () => {
    const applied = appliedCount(database.value, bundledMigrations(), path);
    if (!applied.ok) return applied;
    showMigrated(database.value, bundledMigrations().slice(applied.value));
    return ok(applied.value === 0 ? undefined : readerOn(home, database.value, queriesOn(database.value)));
  });
  if (!opened.ok || opened.value === undefined) database.value.close();
  return opened;
}

/**
 * The row of a session, by its id or a prefix that only one session has. `from` is a home, which is opened for this call, or an open reader.
 * Fails with `not_found`, with `usage` for an ambiguous prefix, or like `openReader`.
 */
export function getSession(from: string | StoreReader, session_id: string): Fallible<SessionRow> {
  if (typeof from !== "string") return from.session(session_id);
  const reader = openReader(from);
  if (!reader.ok) return reader;
  try {
    return reader.value.session(session_id);
  } finally {
    reader.value.close();
  }
}

/** A session that this process holds. */
interface Held {
  readonly lease: Lease;
  readonly key: number;
  readonly lock: Lock;
}

/** The store on a migrated connection; closing the store closes the connection. */
export function storeOn(home: string, database: Database): Store {
  const queries = queriesOn(database);
  const { sessions, inbox } = queries;
  const reader = readerOn(home, database, queries);
  const checkFiles = watchFiles(database);
  const held = new Map<string, Held>();
  // SQLite's data version does not count writes by this connection.
  let puts = 0;
  // Why a commit failed. Afterwards this connection writes no more: how much of the failed transaction is on disk is only known after the file is
  // reopened.
  let refused: Failure | undefined;

  function acquire(session_id: string, owner: Owner): Fallible<Lease> {
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
    const epoch: Fallible<number> = refused ? err(refused) : write(database, () => ok(sessions.take(key, owner)));
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
    // The owner's name is only informative: release the lock even if the name cannot be removed.
    if (refused === undefined) write(database, () => ok(sessions.leave(key, lease.epoch)));
    lock.release();
    crashPoint("lock_released");
  }

  function put(session_id: string, body: JsonObject, actor: Actor): Fallible<number> {
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
      // A child's id may be longer: it is its parent's id and the child's number.
      const named = checkSessionId(session.parent ?? session.session_id);
      if (!named.ok) return named;
      return write(database, () => (sessions.insert(session) ? ok(undefined) : err(taken(session.session_id))));
    },
    acquire: async (session_id, owner) => guarded(database.name, () => acquire(session_id, owner)),
    async release(lease) {
      const session = holding(lease);
      if (session !== undefined) release(session);
    },
    async commit(lease, commit) {
      const session = holding(lease);
      if (session === undefined) return err(stale(lease.session_id));
      if (refused) return err(refused);
      const committed = write(database, () => {
        const checked = checkFiles();
        if (!checked.ok) return checked;
        const applied = apply(queries, session, commit);
        crashPoint("before_commit");
        return applied;
      });
      if (committed.ok) crashPoint("after_commit");
      else if (isOfStorage(committed.error)) refused = committed.error;
      return committed;
    },
    confirm(lease) {
      const session = holding(lease);
      if (session === undefined) return err(stale(lease.session_id));
      return guarded(database.name, () =>
        sessions.epoch(session.key) === lease.epoch ? ok(undefined) : err(stale(lease.session_id)),
      );
    },
    inbox: {
      ...reader.inbox,
      put: async (session_id, body, actor) => put(session_id, body, actor),
      outcome: (session_id, id) => reading(database.name, () => inbox.outcome(sessions.key(session_id) ?? 0, id)),
    },
    version: () => reader.version() + puts,
    close() {
      for (const session of [...held.values()]) release(session);
      reader.close();
    },
  };
}

export function apply(queries: Queries, { lease, key }: Pick<Held, "lease" | "key">, commit: Commit): Fallible<void> {
  const { expected, records, changes, session = {}, artifacts = [], taken = [] } = commit;
  const last_sequence = lastSequence(commit);
  const head = records.at(-1)?.hash ?? null;
  const step = { session: key, epoch: lease.epoch, expected, last_sequence, head };
  if (!queries.sessions.advance(step, session)) return err(stale(lease.session_id));
  for (const record of records) queries.records.insert(key, record);
  queries.state.apply(key, changes);
  for (const artifact of artifacts) queries.artifacts.insert(key, artifact);
  queries.inbox.take(key, taken);
  return ok(undefined);
}

/** Throws for a gap, which would make the log unverifiable: it is a caller's bug, not a failure. */
function lastSequence({ expected, records }: Commit): number {
  let sequence = expected;
  for (const record of records) {
    sequence += 1;
    if (record.sequence !== sequence)
      throw new Error(`Record ${record.sequence} was committed where ${sequence} belongs.`);
  }
  return sequence;
}
