import { setTimeout as delay } from "node:timers/promises";
import type { Launched } from "../launcher.ts";

/** How long a group may take to vanish after SIGKILL; a process in an uninterruptible call can outlast it. */
const AFTER_KILL_MS = 1_000;
const LONGEST_POLL_MS = 50;

/** SIGTERM to the group, `grace_ms`, SIGKILL. SIGCONT, because a stopped process does not see SIGTERM until it goes on. */
export async function endGroup(launched: Launched, grace_ms: number): Promise<void> {
  launched.seekStrays(true);
  launched.signalGroup("SIGTERM");
  launched.signalGroup("SIGCONT");
  if (await groupGone(launched, grace_ms)) return;
  launched.seekStrays(true);
  launched.signalGroup("SIGKILL");
  await groupGone(launched, AFTER_KILL_MS);
}

async function groupGone(launched: Launched, within_ms: number): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  if (!(await within(launched.exited, within_ms))) return false;
  for (let pause = 1; launched.groupLives(); pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
    if (performance.now() >= deadline) return false;
    await delay(pause);
  }
  return true;
}

/**
 * Whether `promise` settles in time. After a stall of the event loop timers fire before what waits in the pipes is read; so
 * the pipes get one poll more before the time counts as passed.
 */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve, false), ms);
  });
  const settled = await Promise.race([promise.then(() => true), passed]);
  clearTimeout(timer);
  return settled;
}
