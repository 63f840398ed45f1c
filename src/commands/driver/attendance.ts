import { readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { isLocked, takeLock } from "../../store/lock.ts";
import { guarded } from "../../store/storage-failure.ts";

/**
 * Says that a person sits at this process's terminal, where the session's questions are asked, until the returned function is
 * called or the process is dead: a lock says so, which the system takes back by itself. Fails with `storage`.
 */
export function attend(home: string, session_id: string): Result<() => void, Failure> {
  const path = join(viewersOf(home, session_id), `${process.pid}.lock`);
  const lock = takeLock(path);
  if (!lock.ok) return lock;
  return ok(() => {
    lock.value?.release();
    // A file that cannot be removed says nothing any more, and goes when somebody looks.
    guarded(path, () => ok(rmSync(path, { force: true })));
  });
}

/** Whether anybody sits at a terminal where the session's questions are asked. Not to be asked by a process that attends itself. */
export function isAttended(home: string, session_id: string): boolean {
  const folder = viewersOf(home, session_id);
  // A file that went while it was looked at belonged to a viewer that has left.
  const found = guarded(folder, () =>
    ok(readdirSync(folder).some((name) => name.endsWith(".lock") && holds(join(folder, name)))),
  );
  return found.ok && found.value;
}

/** Removes what a dead viewer has left; one that is alive may be just about to lock its file. */
function holds(path: string): boolean {
  const locked = guarded(path, () => {
    const held = isLocked(path);
    if (!held && isGone(Number.parseInt(basename(path), 10))) {
      // A lock that its holder's death ended leaves the journal that was to undo it.
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
