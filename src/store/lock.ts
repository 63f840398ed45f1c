import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import os from "node:os";
import { dirname, join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { makeDirectory } from "../lib/directory.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { guarded } from "./database.ts";
import { noLock } from "./failures.ts";
import type { Holder, Owner } from "./store.ts";

/** Those who only ask whether a lock is held are in the way of one who takes it: how long he waits each time, in milliseconds. */
const WAIT_MS = 20;

/** How often he waits. */
const WAITS = 100;

/** How long, in ms, and how often it is waited for the holder of a lock to be written down. */
const OWNER_WAIT_MS = 10;
const OWNER_WAITS = 20;

/** Every lock of the machine, by process: proc_locks(5). */
const LOCKS = "/proc/locks";

/** A lock that is held until it is let go of, or until its process is dead. */
export interface Lock {
  release(): void;
}

/** The locks of this process: a connection that nobody can reach any more is closed, and its lock would be gone with it. */
const held = new Set<Lock>();

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
    makeDirectory(dirname(path));
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) return err(noLock(path));
    for (let waits = 0; waits < WAITS && !isLocked(path); waits++) {
      const lock = begin(new SqliteDatabase(path, { timeout: WAIT_MS }), "BEGIN EXCLUSIVE");
      if (lock === "no lock") return err(noLock(path));
      if (lock !== null) return ok(kept(lock));
    }
    return ok(null);
  });
}

function kept(lock: Lock): Lock {
  held.add(lock);
  return {
    release: () => {
      held.delete(lock);
      lock.release();
    },
  };
}

/**
 * Whether somebody holds the lock at `path` now, this process included. Asking takes a shared lock for a moment, so that those
 * who ask do not take each other for the holder.
 */
export function isLocked(path: string): boolean {
  // Nobody can hold what is no file, and SQLite would wait for ever at a pipe.
  if (!existsSync(path) || !statSync(path).isFile()) return false;
  const asking = begin(new SqliteDatabase(path, { readonly: true, timeout: 0 }), "PRAGMA schema_version");
  if (asking === "no lock") return false;
  asking?.release();
  return asking === null;
}

/**
 * The process of this machine that holds the lock at `path`, as the kernel knows it: whoever only has the file open is not meant.
 * Undefined if nobody here does, or if the platform does not tell (only Linux does).
 */
export function holderOf(path: string): number | undefined {
  if (!existsSync(LOCKS) || !existsSync(path)) return undefined;
  const file = realpathSync(path);
  const { ino } = statSync(file);
  // proc_locks(5): `7: POSIX  ADVISORY  WRITE 4711 08:01:131 0 EOF`. Another file system may have a file of the same number.
  return readFileSync(LOCKS, "latin1")
    .split("\n")
    .map((line) => /^\d+: POSIX +ADVISORY +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line))
    .filter((found) => Number(found?.[2]) === ino)
    .map((found) => Number(found?.[1]))
    .find((pid) => pid > 0 && hasOpen(pid, file));
}

function hasOpen(pid: number, file: string): boolean {
  try {
    const descriptors = `/proc/${pid}/fd`;
    return readdirSync(descriptors).some((name) => {
      try {
        return readlinkSync(`${descriptors}/${name}`) === file;
      } catch {
        // It was closed in this moment.
        return false;
      }
    });
  } catch {
    return false;
  }
}

/**
 * Who holds the lock, as it is written down. A new holder takes the lock a moment before it writes its name; until then the name
 * is that of one who is dead, or missing. So the name is waited for a little; of one who takes longer, or stands still, only the
 * kernel knows. Nobody is named who cannot be meant.
 */
export function ownerBehind(lock: string, read: () => Owner | undefined): Holder | undefined {
  for (let waits = 0; ; waits++) {
    const owner = read();
    if (owner !== undefined && !isDead(owner)) return owner;
    if (!isLocked(lock)) return undefined;
    if (waits === OWNER_WAITS) {
      const pid = holderOf(lock);
      return pid === undefined ? undefined : { pid, host: os.hostname() };
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OWNER_WAIT_MS);
  }
}

/** Only of this machine's processes can it be told. */
function isDead({ pid, host }: Owner): boolean {
  if (host !== os.hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/**
 * The lock that the statement takes; null where somebody else is in its way. It is taken before the file is looked at: so nobody holds what
 * turns out to be no database.
 */
function begin(database: SqliteDatabase.Database, statement: string): Lock | "no lock" | null {
  try {
    database.exec(statement);
    return { release: () => void database.close() };
  } catch (error) {
    database.close();
    if (!(error instanceof SqliteDatabase.SqliteError)) throw error;
    if (error.code.startsWith("SQLITE_BUSY")) return null;
    if (error.code === "SQLITE_NOTADB") return "no lock";
    throw error;
  }
}
