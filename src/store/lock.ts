import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { guarded } from "./database.ts";

/** Those who only ask whether a lock is held are in the way of one who takes it: how long he waits each time, in milliseconds. */
const WAIT_MS = 20;

/** How often he waits. */
const WAITS = 100;

/** A lock that is held until it is let go of, or until its process is dead. */
export interface Lock {
  release(): void;
}

/**
 * The file that a session's owner locks. It holds nothing. Nobody but this file may open it in the owner's process: the system
 * drops a process's locks on a file when that process closes the file by whatever handle.
 */
export function lockPath(home: string, session_id: string): string {
  return join(home, "sessions", session_id, "owner.lock");
}

/**
 * Takes the lock at `path`; null, at once, if it is held. It is SQLite's own exclusive lock on an empty database: the kernel takes
 * it back the moment the process ends, so there is no age to guess and no file to clean up. Fails with `storage`.
 */
export function takeLock(path: string): Result<Lock | null, Failure> {
  return guarded(path, () => {
    mkdirSync(dirname(path), { recursive: true });
    for (let waits = 0; waits < WAITS && !isLocked(path); waits++) {
      const lock = begin(new SqliteDatabase(path, { timeout: WAIT_MS }), "BEGIN EXCLUSIVE");
      if (lock !== null) return ok(lock);
    }
    return ok(null);
  });
}

/**
 * Whether somebody holds the lock at `path` now, this process included. Asking takes a shared lock for a moment, so that those
 * who ask do not take each other for the holder.
 */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const asking = begin(new SqliteDatabase(path, { readonly: true, timeout: 0 }), "PRAGMA schema_version");
  asking?.release();
  return asking === null;
}

function begin(database: SqliteDatabase.Database, statement: string): Lock | null {
  try {
    database.exec(statement);
    return { release: () => void database.close() };
  } catch (error) {
    database.close();
    if (error instanceof SqliteDatabase.SqliteError && error.code.startsWith("SQLITE_BUSY")) return null;
    throw error;
  }
}
