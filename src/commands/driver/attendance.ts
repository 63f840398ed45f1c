import { readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
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
    // Without its lock the file means nothing; `isAttended` removes it.
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

/** Removes the file of a dead viewer, but not of a living one: it may be about to lock it. */
function holds(path: string): boolean {
  const locked = guarded(path, () => {
    const held = isLocked(path);
    if (!held && isGone(Number.parseInt(basename(path), 10))) {
      // A lock whose process died leaves a journal.
      for (const left of [`${path}-journal`, path]) rmSync(left, { force: true });
    }
    return ok(held);
  });
  return locked.ok && locked.value;
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

function viewersOf(home: string, session_id: string): string {
  return join(sessionPaths(home, session_id).folder, "viewers");
}
