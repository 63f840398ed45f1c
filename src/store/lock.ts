import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import os from "node:os";
import { dirname, join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { createOwn, makeDirectory } from "../lib/files.ts";
import { err, ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { notALock } from "./failures.ts";
import { guarded } from "./storage-failure.ts";
import type { Holder, Owner } from "./store.ts";

/** `isLocked` briefly takes a shared lock, and so blocks `takeLock`, which waits at most this long (in milliseconds) and this often. */
const WAIT_MS = 20;
const WAITS = 100;

/** How long (in milliseconds) and how often `ownerBehind` waits for a new holder to be recorded. */
const OWNER_WAIT_MS = 10;
const OWNER_WAITS = 20;

/** All locks of the machine, with their processes: proc_locks(5). */
const LOCKS = "/proc/locks";

/** A lock that is held until it is released, or until its process dies. */
export interface Lock {
  release(): void;
}

/** The connections that hold locks. The garbage collector would close an unreachable one, and so release its lock. */
const held = new Set<SqliteDatabase.Database>();

/**
 * The file that a session's owner locks; it is empty. Only this module may open it in the owner's process: the system drops a process's locks
 * on a file as soon as the process closes any handle of it.
 */
export function lockPath(home: string, session_id: string): string {
  return join(home, "sessions", session_id, "owner.lock");
}

/**
 * Takes the lock at `path`. Returns null, without waiting, if another process holds it. It is SQLite's exclusive lock on an empty database:
 * the kernel releases it the moment the process ends, so no lock can be stale and no file needs cleanup. Fails with `storage`.
 */
export function takeLock(path: string): Fallible<Lock | null> {
  return guarded(path, () => {
    makeDirectory(dirname(path));
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) return err(notALock(path));
    for (let waits = 0; waits < WAITS && !isLocked(path); waits++) {
      createOwn(path);
      const lock = lockWith(new SqliteDatabase(path, { timeout: WAIT_MS }), "BEGIN EXCLUSIVE");
      if (lock === "not a lock") return err(notALock(path));
      if (lock !== null) return ok(lock);
    }
    return ok(null);
  });
}

/**
 * Whether any process, including this one, holds the lock at `path`. Briefly takes a shared lock, so that two processes that ask at once do
 * not take each other for the holder.
 */
export function isLocked(path: string): boolean {
  // SQLite would wait at a pipe forever.
  if (!existsSync(path) || !statSync(path).isFile()) return false;
  const shared = lockWith(new SqliteDatabase(path, { readonly: true, timeout: 0 }), "PRAGMA schema_version");
  if (shared === "not a lock") return false;
  shared?.release();
  return shared === null;
}

/**
 * The process of this machine that holds the lock at `path`, according to the kernel; having the file open is not enough. Undefined if no
 * process here holds it, and on platforms other than Linux.
 */
export function holderOf(path: string): number | undefined {
  if (!existsSync(LOCKS) || !existsSync(path)) return undefined;
  const file = realpathSync(path);
  const { ino } = statSync(file);
  // `7: POSIX  ADVISORY  WRITE 4711 08:01:131 0 EOF`. Another file system may have a file with the same inode number.
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
        // It was closed meanwhile.
        return false;
      }
    });
  } catch {
    return false;
  }
}

/**
 * The recorded holder of a session. A new holder takes the lock a moment before it records its name; until then the name is missing or that of
 * a dead process. So this waits briefly for the name, then falls back to the process that the kernel reports. A lock that no process here holds is
 * held in another PID namespace, where the recorded pid has its meaning: that name counts, whatever has the number here.
 */
export function ownerBehind(lock: string, read: () => Owner | undefined): Holder | undefined {
  for (let waits = 0; ; waits++) {
    const owner = read();
    if (owner !== undefined && !isDead(owner)) return owner;
    const pid = holderOf(lock);
    if (!isLocked(lock)) return undefined;
    const isElsewhere = pid === undefined && owner !== undefined && existsSync(LOCKS);
    if (waits === OWNER_WAITS || (isElsewhere && waits > 0))
      return pid === undefined ? owner : { pid, host: os.hostname() };
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OWNER_WAIT_MS);
  }
}

/** False for a process on another host, whose state is unknown. */
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
 * Returns the lock that the statement takes; null if another process blocks it. SQLite locks the file before reading it, so nobody holds a
 * file that is not a database.
 */
function lockWith(database: SqliteDatabase.Database, statement: string): Lock | "not a lock" | null {
  try {
    database.exec(statement);
    const release = () => {
      held.delete(database);
      database.close();
    };
    held.add(database);
    return { release };
  } catch (error) {
    database.close();
    if (!(error instanceof SqliteDatabase.SqliteError)) throw error;
    if (error.code.startsWith("SQLITE_BUSY")) return null;
    if (error.code === "SQLITE_NOTADB") return "not a lock";
    throw error;
  }
}
