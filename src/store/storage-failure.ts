import { dirname } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { err } from "../lib/result.ts";
import { failure, type Failure, type Fallible } from "../protocol/failure.ts";
import { damaged } from "./failures.ts";
import { unwritable } from "./file-system.ts";
import { StorageError } from "./storage-error.ts";

/** Runs `work` on the file at `path`. An error of the disk or the database becomes a failure that names the file; bugs are rethrown. */
export function guarded<T>(path: string, work: () => Fallible<T>): Fallible<T> {
  try {
    return work();
  } catch (error) {
    return err(storageFailure(error, path));
  }
}

/** Reads from the file at `path`. An error of the disk or the database is thrown as a `StorageError`. */
export function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StorageError(storageFailure(error, path), error);
  }
}

/** `reading` for rows that are fetched one at a time. */
export function* readingEach<T>(path: string, rows: Iterator<T>): IterableIterator<T> {
  for (;;) {
    const next = reading(path, () => rows.next());
    if (next.done) return;
    yield next.value;
  }
}

/** Converts an error of the disk or the database to a failure. Rethrows any other error, since it is a bug. */
function storageFailure(error: unknown, path: string): Failure {
  // Columns that are parsed as JSON were written as JSON.
  if (error instanceof SyntaxError) return damaged(path, error.message);
  const code = (error as { code?: unknown }).code;
  const isFromStorage =
    error instanceof SqliteDatabase.SqliteError || (error as NodeJS.ErrnoException).syscall !== undefined;
  if (typeof code !== "string" || !isFromStorage) throw error;
  const message = (what: string) => `${what}: ${path} (${code}).`;
  switch (plainCode(code)) {
    case "SQLITE_FULL":
    case "ENOSPC":
    case "EDQUOT":
      return noSpace(message);
    case "SQLITE_IOERR":
      // On a full disk, SQLite reports only an input/output error for its shared-memory file.
      return unwritable(dirname(path)) === "full" ? noSpace(message) : unusable(message);
    case "EROFS":
    case "SQLITE_READONLY":
    case "SQLITE_CANTOPEN":
      return unwritable(dirname(path)) === "read_only" ? readOnly(message) : unusable(message);
    case "SQLITE_BUSY":
    case "SQLITE_LOCKED":
      return failure("storage", message("Another program keeps the database locked"), {
        hint: "End the program that has it open for writing, then try again.",
      });
    case "SQLITE_CORRUPT":
    case "SQLITE_NOTADB":
      return damaged(path, code);
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

/** The failure behind an error of a statement: statements are fixed, so the database has tables or rows that Bosun did not write. */
export function foreignRows(error: unknown, path: string): Failure | undefined {
  return error instanceof SqliteDatabase.SqliteError ? damaged(path, error.message) : undefined;
}

/** SQLite's extended codes (SQLITE_IOERR_WRITE) begin with the plain code. */
function plainCode(code: string): string {
  return code.startsWith("SQLITE_") ? code.split("_", 2).join("_") : code;
}

function noSpace(message: (what: string) => string): Failure {
  return failure("storage_full", message("There is no space left for the database"), {
    hint: "Nothing of the last step was written. Make space on this disk, then try again; `bosun resume` continues a session.",
  });
}

function readOnly(message: (what: string) => string): Failure {
  return failure("storage", message("The database is on a disk mounted read-only"), {
    hint: "Remount the disk for writing, then try again; `bosun resume` continues a session. Or choose another home with --home.",
  });
}

function unusable(message: (what: string) => string): Failure {
  return failure("storage", message("The database cannot be used"), {
    hint: "Check that the directory exists, that you may write to it, that its disk works, and that `ulimit -f` allows larger files; or choose another home with --home.",
  });
}
