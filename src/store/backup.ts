import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import SqliteDatabase from "better-sqlite3";
import { createOwn } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { guarded } from "./storage-failure.ts";

/**
 * Copies the database at `path` to `<path>.<label>.bak`, replacing an earlier copy, and returns that path. The caller must hold a lock, so that the
 * copy has everything that was committed. Fails with `storage` or `storage_full`.
 */
export function backUp(path: string, label: number | string): Fallible<string> {
  const copy = `${path}.${label}.bak`;
  const unfinished = `${copy}.tmp`;
  const copied = guarded(unfinished, () => {
    rmSync(unfinished, { force: true, recursive: true });
    createOwn(unfinished);
    const database = new SqliteDatabase(path, { readonly: true });
    try {
      database.prepare("VACUUM INTO ?").run(unfinished);
    } finally {
      database.close();
    }
    synchronize(unfinished);
    renameSync(unfinished, copy);
    return ok(copy);
  });
  if (copied.ok) return copied;
  rmSync(unfinished, { force: true, recursive: true });
  const megabytes = Math.ceil(statSync(path).size / 1e6);
  return fails(copied.error.code, `The database cannot be backed up before it is changed. ${copied.error.message}`, {
    hint: `Nothing was changed. Make sure that ${megabytes} MB can be written beside the database, then try again.`,
  });
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
