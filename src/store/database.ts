import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { makeDirectory } from "../lib/directory.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { failure, type Failure } from "../protocol/failure.ts";
import { damagedHint, proving } from "./damage.ts";
import { type Limited, limitedFile } from "./file-size.ts";
import { unwritable } from "./file-system.ts";
import { StorageError } from "./storage-error.ts";

/** An open connection; every query of this folder is prepared on one. */
export type Database = SqliteDatabase.Database;

/** How long a connection waits for another process's write, in milliseconds. A write takes a few; a full disk takes long. */
const BUSY_TIMEOUT_MS = 10_000;
/** Between two looks where SQLite itself does not wait. */
const BUSY_LOOK_MS = 5;

/** The database file of a home. */
export function databasePath(home: string): string {
  return join(home, "bosun.db");
}

/**
 * Opens a home's database for writing and makes home and file if need be. A commit is on the disk when it returns
 * (`synchronous=FULL`), and readers never wait for it (WAL). Fails with `storage` or `storage_full`.
 */
export function openForWriting(home: string): Result<Database, Failure> {
  const path = databasePath(home);
  return guarded(path, () => {
    makeDirectory(home);
    const strange = strangeAt(path);
    if (strange) return err(strange);
    const database = new SqliteDatabase(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      // Of a new file, before anything is in it: records of about 1 KiB fill such pages better, and with fewer writes.
      database.pragma("page_size = 8192");
      writeAhead(database);
      database.pragma("synchronous = FULL");
      // In pages. The same state is written over and over: the less often it is copied into the database, the fewer copies are made.
      database.pragma("wal_autocheckpoint = 2000");
      // In KiB, since it is negative. State is updated here and there; the default of 2 MiB holds few of its pages, more gained nothing.
      database.pragma("cache_size = -4096");
      database.pragma("foreign_keys = ON");
      return ok(database);
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/**
 * Turns a new file over to a write-ahead log. Where another process is just doing the same SQLite does not wait as it does for any other
 * lock, but refuses at once (measured), so the waiting is done here.
 */
function writeAhead(database: Database): void {
  const until = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      database.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "SQLITE_BUSY" || performance.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_LOOK_MS);
    }
  }
}

/**
 * Opens a home's database for looking only, also where nothing may be written. `not_found` if the home has none, else as
 * `openForWriting`; but what is no database shows itself only to who reads.
 */
export function openForReading(home: string): Result<Database, Failure> {
  const path = databasePath(home);
  return guarded(path, () => {
    // What is there and may not be looked at is not taken for nothing.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) {
      return err(
        failure("not_found", `There is no Bosun home at ${home}: it holds no bosun.db.`, {
          hint: holdsLogs(home)
            ? `Its logs are there: ${proving(home)} To go on with a session, put the database back.`
            : "Start with `bosun run`, or name the home with --home.",
        }),
      );
    }
    const strange = strangeAt(path);
    if (strange) return err(strange);
    const mayMakeFiles = unwritable(dirname(path)) === undefined;
    const file = mayMakeFiles || existsSync(`${path}-wal`) ? path : asLeft(path);
    return ok(new SqliteDatabase(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS }));
  });
}

/** Whether there were sessions, whatever has become of the database. */
function holdsLogs(home: string): boolean {
  try {
    return readdirSync(join(home, "logs"), { withFileTypes: true }).some((entry) => entry.isDirectory());
  } catch {
    return false;
  }
}

/** What stands in a database's place and is no file: SQLite would wait for ever at a pipe. */
function strangeAt(path: string): Failure | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== false) return undefined;
  return failure("storage", `The database is no file: ${path}.`, {
    hint: "See what stands there, and move it away; or choose another home with --home.",
  });
}

/** Where the header of a database says how it is to be written and read: 2 with a journal of its own (WAL), 1 without. */
const HEADER_MODES = { from: 18, to: 20 };

/**
 * The bytes of a database that nobody has open, to be read from memory: to read one that has a journal of its own SQLite makes that
 * first, even if it would be empty.
 */
function asLeft(path: string): Buffer {
  const bytes = readFileSync(path);
  bytes.subarray(HEADER_MODES.from, HEADER_MODES.to).fill(1);
  return bytes;
}

/**
 * Runs `work` in one transaction that nobody else can write beside (BEGIN IMMEDIATE). Nothing of it stands if it gives a failure
 * or throws, or if the commit fails.
 */
export function write<T>(database: Database, work: () => Result<T, Failure>): Result<T, Failure> {
  return guarded(database.name, () => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      if (result.ok) database.exec("COMMIT");
      return result;
    } finally {
      // Some errors (a full disk) have rolled back already.
      if (database.inTransaction) database.exec("ROLLBACK");
    }
  });
}

/** Runs `work` on the file at `path` and turns what storage refuses into a failure that names it. Bugs stay exceptions. */
export function guarded<T>(path: string, work: () => Result<T, Failure>): Result<T, Failure> {
  try {
    return work();
  } catch (error) {
    return err(storageFailure(error, path));
  }
}

/** Reads from the file at `path`; what storage refuses is thrown as a `StorageError`. */
export function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StorageError(storageFailure(error, path), error);
  }
}

/** The same for rows that are read one by one. */
export function* readingEach<T>(path: string, rows: Iterator<T>): IterableIterator<T> {
  for (;;) {
    const next = reading(path, () => rows.next());
    if (next.done) return;
    yield next.value;
  }
}

/** What storage refused. What it did not is a bug, and thrown on. */
function storageFailure(error: unknown, path: string): Failure {
  // Everything that is stored as JSON was written as JSON.
  if (error instanceof SyntaxError)
    return failure("storage", `The database is damaged: ${path} (${error.message}).`, { hint: damagedHint(path) });
  const code = (error as { code?: unknown }).code;
  const isRefused =
    error instanceof SqliteDatabase.SqliteError || (error as NodeJS.ErrnoException).syscall !== undefined;
  if (typeof code !== "string" || !isRefused) throw error;
  // Extended codes (SQLITE_IOERR_WRITE) begin with the plain one.
  const kind = code.startsWith("SQLITE_") ? code.split("_").slice(0, 2).join("_") : code;
  const message = (what: string) => `${what}: ${path} (${code}).`;
  switch (kind) {
    case "SQLITE_IOERR": {
      const limited = limitedFile(path);
      if (limited !== undefined) return outgrown(limited, code);
      // Of memory that it shares through a file SQLite does not say that the disk was full.
      return unwritable(dirname(path)) === "full" ? noSpace(message) : unusable(message);
    }
    case "SQLITE_FULL":
    case "ENOSPC":
    case "EDQUOT":
      return noSpace(message);
    case "EROFS":
    case "SQLITE_READONLY":
    case "SQLITE_CANTOPEN":
      return unwritable(dirname(path)) === "read_only" ? readOnly(message) : unusable(message);
    case "SQLITE_BUSY":
    case "SQLITE_LOCKED":
      return failure("storage", message(`The database stayed locked for ${BUSY_TIMEOUT_MS / 1000} s`), {
        hint: "Another program holds it open for writing. End that program, then try again.",
      });
    case "SQLITE_CORRUPT":
    case "SQLITE_NOTADB":
      return failure("storage", message("The database is damaged, or is no Bosun database"), {
        hint: damagedHint(path),
      });
    case "SQLITE_CONSTRAINT":
    case "SQLITE_ERROR":
    case "SQLITE_MISUSE":
    case "SQLITE_RANGE":
    case "SQLITE_MISMATCH":
      throw error;
    default:
      return unusable(message);
  }
}

function noSpace(message: (what: string) => string): Failure {
  return failure("storage_full", message("There is no space left for the database"), {
    hint: "Nothing of the last step was written. Make space on this disk, then do it again; a session goes on with `bosun resume`.",
  });
}

function readOnly(message: (what: string) => string): Failure {
  return failure("storage", message("The database lies on a disk that is mounted read-only"), {
    hint: "Mount it so that it can be written, then do it again; a session goes on with `bosun resume`. Or choose another home with --home.",
  });
}

function unusable(message: (what: string) => string): Failure {
  return failure("storage", message("The database cannot be used"), {
    hint: "Check that the directory exists, that you may write to it, and that its disk works; or choose another with --home.",
  });
}

function outgrown({ path, limit_bytes }: Limited, code: string): Failure {
  return failure(
    "storage_full",
    `No file may grow beyond ${limit_bytes} bytes here, and the database has to: ${path} (${code}).`,
    {
      hint: "Nothing of the last step was written. Lift the limit with `ulimit -f unlimited`, then resume the session.",
    },
  );
}
