import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import SqliteDatabase from "better-sqlite3";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { guarded } from "./storage-failure.ts";

/**
 * Copies the database at `path`, whose schema has this number, to `<path>.<number>.bak`, replacing an earlier copy. The caller must hold the
 * write lock, so that the copy has everything that was committed. Fails with `storage` or `storage_full`.
 */
export function backUp(path: string, number: number): Result<void, Failure> {
  const copy = `${path}.${number}.bak`;
  const unfinished = `${copy}.tmp`;
  const copied = guarded(unfinished, () => {
    rmSync(unfinished, { force: true, recursive: true });
    const database = new SqliteDatabase(path, { readonly: true });
    try {
      database.prepare("VACUUM INTO ?").run(unfinished);
    } finally {
      database.close();
    }
    synchronize(unfinished);
    renameSync(unfinished, copy);
    return ok(undefined);
  });
  if (copied.ok) return copied;
  rmSync(unfinished, { force: true, recursive: true });
  const megabytes = Math.ceil(statSync(path).size / 1e6);
  return err(
    failure(
      copied.error.code,
      `The database is of an older version, and cannot be backed up before it is migrated. ${copied.error.message}`,
      {
        hint: `Nothing was changed. Make sure that ${megabytes} MB can be written beside the database, then try again.`,
      },
    ),
  );
}

/** SQLite leaves it to the system when the copy reaches the disk. */
function synchronize(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
