import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { isLocked, takeLock } from "../../store/lock.ts";
import { guarded } from "../../store/storage-failure.ts";

/**
 * Marks that a person is at this process's terminal, where the session's questions are asked, until the returned function is called. The
 * mark is a file lock, which also ends with the process. Fails with `storage`.
 */
export function attend(home: string, session_id: string): Fallible<() => void> {
  const path = join(viewersOf(home, session_id), `${process.pid}.lock`);
  const lock = takeLock(path);
  if (!lock.ok) return lock;
  return ok(() => {
    lock.value?.release();
    // Without its lock the file means nothing.
    guarded(path, () => ok(rmSync(path, { force: true })));
  });
}

/** Whether a person is at a terminal where the session's questions are asked. A process that attends itself must not call it. */
export function isAttended(home: string, session_id: string): boolean {
  const folder = viewersOf(home, session_id);
  // A file that disappears meanwhile belonged to a viewer that has left.
  const found = guarded(folder, () =>
    ok(readdirSync(folder).some((name) => name.endsWith(".lock") && holds(join(folder, name)))),
  );
  return found.ok && found.value;
}

function holds(path: string): boolean {
  const locked = guarded(path, () => ok(isLocked(path)));
  return locked.ok && locked.value;
}

function viewersOf(home: string, session_id: string): string {
  return join(sessionPaths(home, session_id).folder, "viewers");
}
