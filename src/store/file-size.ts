import { readFileSync, statSync } from "node:fs";

/** How near a file is to its limit when a write that went wrong is taken to have gone beyond it, in bytes: the most that SQLite adds at once. */
const NEAR_BYTES = 64 * 1024;

/** A file that this process may not let grow as far as it would have to. */
export interface Limited {
  readonly path: string;
  readonly limit_bytes: number;
}

/**
 * Which file of a database has come to the end of what this process may write (RLIMIT_FSIZE, `ulimit -f`), if one has: SQLite says
 * of a write beyond it only that it failed. Only Linux tells.
 */
export function limitedFile(database: string): Limited | undefined {
  const limit_bytes = fileSizeLimit();
  if (limit_bytes === undefined) return undefined;
  const path = ["", "-wal", "-shm"]
    .map((suffix) => `${database}${suffix}`)
    .find((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) + NEAR_BYTES > limit_bytes);
  return path === undefined ? undefined : { path, limit_bytes };
}

function fileSizeLimit(): number | undefined {
  try {
    const [, soft] = /^Max file size +(\d+) /m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
