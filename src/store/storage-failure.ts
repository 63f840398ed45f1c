import { dirname } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { err } from "../lib/result.ts";
import { diskFailure } from "../protocol/disk-failure.ts";
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
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isFromStorage = error instanceof SqliteDatabase.SqliteError || syscall !== undefined;
  if (typeof code !== "string" || !isFromStorage) throw error;
  // SQLite's extended codes (SQLITE_IOERR_WRITE) begin with the plain ones.
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(code)) {
    return failure("storage", `Another program keeps the database locked: ${path} (${code}).`, {
      hint: "End the program that has it open for writing, then try again.",
    });
  }
  // Statements are fixed: where one is wrong, the database has tables or rows that Bosun did not write.
  if (/^SQLITE_(?:CORRUPT|NOTADB|ERROR|CONSTRAINT|MISMATCH)/.test(code)) return damaged(path, message);
  return diskFailure("The database cannot be used", path, systemCode(code, path));
}

/** The failure behind an error of a statement that nothing guarded. */
export function foreignRows(error: unknown, path: string): Failure | undefined {
  return error instanceof SqliteDatabase.SqliteError ? damaged(path, error.message) : undefined;
}

/** The system's code behind one of SQLite's: on a full disk, SQLite reports only an input/output error for its shared-memory file. */
function systemCode(code: string, path: string): string {
  const state = unwritable(dirname(path));
  if (code === "SQLITE_FULL" || (code.startsWith("SQLITE_IOERR") && state === "full")) return "ENOSPC";
  return /^SQLITE_(?:READONLY|CANTOPEN)/.test(code) && state === "read_only" ? "EROFS" : code;
}
