import type { Launched } from "../launcher.ts";
import { AFTER_KILL_MS, comesToBe } from "../processes.ts";

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
  return comesToBe(() => !launched.groupLives(), deadline - performance.now());
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
