import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { createOwn, makeDirectory } from "../lib/files.ts";
import { err, ok } from "../lib/result.ts";
import { failure, type Failure, type Fallible } from "../protocol/failure.ts";
import { verifyCommand } from "./failures.ts";
import { unwritable } from "./file-system.ts";
import { guarded } from "./storage-failure.ts";

export type Database = SqliteDatabase.Database;

/** Maximum time a connection waits for another process's write, in milliseconds. A write takes a few, but much longer on a full disk. */
const BUSY_TIMEOUT_MS = 10_000;
const RETRY_MS = 5;

export function databasePath(home: string): string {
  return join(home, "bosun.db");
}

/**
 * Opens a home's database for writing. Creates the home and the file if they are missing. A commit is on disk when it returns
 * (`synchronous=FULL`), and readers never wait for it (WAL). Fails with `storage` or `storage_full`.
 */
export function openForWriting(home: string): Fallible<Database> {
  const path = databasePath(home);
  return guarded(path, () => {
    makeDirectory(home);
    const notFile = notRegularFile(path);
    if (notFile) return err(notFile);
    // SQLite would let others read a file that it makes. Its `-wal` and `-shm` get the modes of this one.
    createOwn(path);
    const database = new SqliteDatabase(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      // Only effective before the first table is created. Records of about 1 KiB fill larger pages better, with fewer writes.
      database.pragma("page_size = 8192");
      enableWal(database);
      database.pragma("synchronous = FULL");
      // In pages. The same state is often rewritten, so rarer checkpoints copy less into the database.
      database.pragma("wal_autocheckpoint = 2000");
      // Negative means KiB. The default of 2 MiB holds few of the scattered pages of state; more than 4 MiB gained nothing.
      database.pragma("cache_size = -4096");
      database.pragma("foreign_keys = ON");
      return ok(database);
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Switches a new file to WAL. SQLite ignores its busy timeout here (measured), so wait here for another process that is switching. */
function enableWal(database: Database): void {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      database.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "SQLITE_BUSY" || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/**
 * Opens a home's database for reading, even where nothing may be written. With `untouched`, no file is created beside a database that nobody
 * has open. Fails with `not_found` if the home has none, else like `openForWriting`. A file that is not a database fails only at the first
 * read.
 */
export function openForReading(home: string, untouched = false): Fallible<Database> {
  const path = databasePath(home);
  return guarded(path, () => {
    // statSync throws for a file that exists but is inaccessible; existsSync would report it as missing.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return err(noDatabase(home));
    const notFile = notRegularFile(path);
    if (notFile) return err(notFile);
    const mayWrite = !untouched && unwritable(dirname(path)) === undefined;
    if (mayWrite) rollBack(path);
    const file = mayWrite || existsSync(`${path}-wal`) ? path : readOnlyCopy(path);
    return ok(new SqliteDatabase(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS }));
  });
}

/**
 * Rolls back what a killed process left of its switch to WAL, the only write with a `-journal`. A connection for reading cannot, and fails.
 */
function rollBack(path: string): void {
  if (!existsSync(`${path}-journal`)) return;
  const database = new SqliteDatabase(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.pragma("schema_version");
  } finally {
    database.close();
  }
}

/** The failure for a home without a database. */
export function noDatabase(home: string): Failure {
  const message = `No session has run here yet: ${home} has no bosun.db.`;
  return hasLogs(home)
    ? failure("storage", message, {
        hint: `Its logs are there: ${verifyCommand(home)} To make the database anew from them: bosun rebuild`,
      })
    : failure("not_found", message, { hint: "Start with `bosun run`, or name the home with --home." });
}

function hasLogs(home: string): boolean {
  try {
    return readdirSync(join(home, "logs"), { withFileTypes: true }).some((entry) => entry.isDirectory());
  } catch {
    return false;
  }
}

/** SQLite would wait forever on a pipe. */
function notRegularFile(path: string): Failure | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== false) return undefined;
  return failure("storage", `The database path is not a regular file: ${path}.`, {
    hint: "Move it away, or choose another home with --home.",
  });
}

/** The write and read versions in a database's header: 2 means WAL, 1 means rollback journal. */
const HEADER_VERSIONS = { from: 18, to: 20 };

/**
 * Reads a closed database to be opened in memory, for a directory where nothing may or should be written. To read a WAL database, SQLite first
 * creates its `-wal` file, even an empty one, unless the header says otherwise.
 */
function readOnlyCopy(path: string): Buffer {
  const bytes = readFileSync(path);
  bytes.subarray(HEADER_VERSIONS.from, HEADER_VERSIONS.to).fill(1);
  return bytes;
}

/** Runs `work` in one exclusive write transaction (BEGIN IMMEDIATE). Rolls back if `work` returns a failure or throws, or if the commit fails. */
export function write<T>(database: Database, work: () => Fallible<T>): Fallible<T> {
  return guarded(database.name, () => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      if (result.ok) database.exec("COMMIT");
      return result;
    } finally {
      // Some errors (a full disk) have already rolled back.
      if (database.inTransaction) database.exec("ROLLBACK");
    }
  });
}

/**
 * Returns a check that an open database's files are still the ones it opened. SQLite goes on committing to a file that was deleted or
 * replaced, and those commits are lost with the process. The check costs two calls of `stat`. Fails with `storage`.
 */
export function watchFiles({ name, memory }: Database): () => Fallible<void> {
  if (memory) return () => ok(undefined);
  const file = inode(name);
  const wal = `${name}-wal`;
  // SQLite creates it at the first write and keeps it while any connection is open.
  let walSeen = inode(wal);
  return () => {
    if (file === undefined || inode(name) !== file) return err(replaced(name));
    const walNow = inode(wal);
    if (walSeen !== undefined && walNow !== walSeen) return err(replaced(wal));
    walSeen = walNow;
    return ok(undefined);
  };
}

function inode(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

function replaced(path: string): Failure {
  return failure(
    "storage",
    `The database was deleted or replaced while it was in use: ${path}. Nothing more is written.`,
    {
      hint: "Leave bosun.db and bosun.db-wal in place, then resume the session. Without bosun.db put a copy back, or begin in another home with --home; the records so far are files in logs/.",
    },
  );
}
