import { setTimeout as delay } from "node:timers/promises";
import { err, ok, type Result } from "../../lib/result.ts";
import { fails, type Failure, failure } from "../../protocol/failure.ts";
import { holderOf, isLocked, lockPath } from "../../store/lock.ts";
import type { Store } from "../../store/store.ts";
import type { OpenHome } from "../context/home.ts";

/** How long a scheduler may take to exit, beyond its agents' grace period, in ms. */
const LEAVING_MS = 5_000;

/** How long the system may take to end a killed process, in ms. A process blocked in disk access can outlast it. */
const AFTER_KILL_MS = 5_000;

/** How often to poll whether a session is still held, in ms. */
const LOOK_EVERY_MS = 20;

/**
 * Ends the process that holds a session, if there is one, so that this process can resume it: asks it to stop, wakes it if it is frozen, and
 * kills it if it does not exit within `kill_grace_s` and five seconds. `busy` for a holder that is not found on this machine or cannot be
 * ended.
 */
export async function endHolder(
  { home, store }: OpenHome<Store>,
  session_id: string,
  kill_grace_s: number,
): Promise<Result<void, Failure>> {
  const lock = lockPath(home, session_id);
  if (!isLocked(lock)) return ok(undefined);
  const pid = holderOf(lock);
  if (pid === undefined) return isLocked(lock) ? err(elsewhere(store, session_id)) : ok(undefined);
  const asked = signal(pid, "SIGTERM") && signal(pid, "SIGCONT");
  const isHeld = () => isLocked(lock);
  if (asked && (await released(isHeld, kill_grace_s * 1000 + LEAVING_MS))) return ok(undefined);
  // Kill only the process that was asked to stop: the lock may belong to another one by now.
  if (holderOf(lock) === pid && signal(pid, "SIGKILL") && (await released(isHeld, AFTER_KILL_MS))) return ok(undefined);
  if (!isLocked(lock)) return ok(undefined);
  const what = `The session ${session_id} is held by process ${holderOf(lock) ?? pid}, which could not be ended.`;
  const hint = "It may be another user's, or hang in a disk that does not answer. End it by hand, then resume again.";
  return fails("busy", what, { hint, details: { pid } });
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    // It has exited, or belongs to another user.
    return false;
  }
}

/** Whether a session is released within this time, in ms. */
export async function released(isHeld: () => boolean, within_ms: number): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  while (isHeld()) {
    if (performance.now() > deadline) return false;
    await delay(LOOK_EVERY_MS);
  }
  return true;
}

function elsewhere(store: Store, session_id: string): Failure {
  const owner = store.holder(session_id);
  const who = owner === undefined ? "a process" : `process ${owner.pid} on ${owner.host}`;
  return failure("busy", `The session ${session_id} is held by ${who}, which cannot be verified from here.`, {
    hint: `Ask it to stop (bosun stop ${session_id}), or end that process where it runs (kill -TERM, then kill -KILL), then resume again.`,
    details: owner && { pid: owner.pid, host: owner.host },
  });
}
