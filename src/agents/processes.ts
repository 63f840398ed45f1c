import { setTimeout as delay } from "node:timers/promises";
import type { ProcessIdentity } from "../kernel/agent.ts";
import { belongsToSession, type SessionMarker } from "./process-marker.ts";
import {
  allPids,
  anyEntryOf,
  descendantsOf,
  entryOf,
  fewGivenSince,
  type ProcessEntry,
  processTable,
} from "./process-table.ts";

const LONGEST_POLL_MS = 50;
/** How long a killed process may take to end; one in an uninterruptible call can take longer. */
export const AFTER_KILL_MS = 1_000;
/** No machine goes through all its pids in this time. */
const NO_REUSE_MS = 1_000;

/**
 * The identity of a child that was just started and not yet reaped, so that its process entry exists. Without `/proc` this takes a call of `ps`;
 * `started` is empty if that fails, too.
 */
export function identify(pid: number): ProcessIdentity {
  return { pid, started: anyEntryOf(pid)?.started ?? "" };
}

/** Whether exactly this process is still running: the pid and start time are the same, and it is not a zombie. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return pid > 1 && entryOf(pid)?.started === started;
}

/**
 * Whether a process of the group, which existed at `since` (`performance.now()`), can still work. Zombies do not count: they remain under an init
 * that does not reap them.
 */
export function groupLives(group: number, since: number): boolean {
  if (!signalGroup(group, 0)) return false;
  return entryOf(group)?.group === group || groupMembers(group, since).length > 0;
}

/** The processes of a group that can still work, as of `since` or later. Its leader was started at `since`, and is the oldest. */
export function groupMembers(group: number, since: number): ProcessEntry[] {
  const younger = performance.now() - since < NO_REUSE_MS ? fewGivenSince(group) : undefined;
  const entries = younger
    ? [group, ...younger].flatMap((pid) => entryOf(pid) ?? [])
    : [...processTable(since).entries.values()];
  return entries.filter((entry) => entry.group === group);
}

/** Signals every process of a group; `0` sends nothing. Returns false if no process of the group can be signalled; a zombie can. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/** Signals exactly this process, if it is still running. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch {
    // It ended in the meantime, or changed its user.
  }
}

/**
 * Ends the leftover processes of a dead scheduler: SIGTERM, `grace_ms`, then SIGKILL. These are the recorded processes, their groups and descendants,
 * and all processes with the session's marker in their environment (Linux only). Processes and groups that reuse a recorded number are not touched,
 * nor is this process or its ancestors. Returns the processes that survive SIGKILL.
 */
export async function endLeftovers(
  identities: readonly ProcessIdentity[],
  grace_ms: number,
  session?: SessionMarker,
): Promise<readonly ProcessIdentity[]> {
  const leaders = identities.filter(isRecorded);
  const known = familyOf(leaders, new Set(leaders.map(({ pid }) => pid)), session);
  for (const identity of known) {
    signalProcess(identity, "SIGTERM");
    // A stopped process does not handle SIGTERM until it continues.
    signalProcess(identity, "SIGCONT");
  }
  await becomesTrue(() => !known.some(isAlive), grace_ms);
  // Repeats while any are found, because they may have started others.
  const deadline = performance.now() + AFTER_KILL_MS;
  for (let survivors = known.filter(isAlive); ; ) {
    const groups = groupsOf(leaders, survivors);
    // Comes before any is killed, because processes that left a group are found through their ancestors.
    const family = familyOf(survivors, groups, session);
    // Signals the whole group at once, so that no process of it can start another in the meantime.
    for (const group of groups) signalGroup(group, "SIGKILL");
    for (const identity of family) signalProcess(identity, "SIGKILL");
    await becomesTrue(() => !family.some(isAlive), deadline - performance.now());
    survivors = family.filter(isAlive);
    if (family.length === 0 || performance.now() >= deadline) return survivors;
  }
}

/** The groups of these leaders that still have an old process, except this process's own group. */
function groupsOf(leaders: readonly ProcessIdentity[], old: readonly ProcessIdentity[]): ReadonlySet<number> {
  const groups = new Set(old.flatMap(({ pid }) => entryOf(pid)?.group ?? []));
  const own = entryOf(process.pid)?.group;
  return new Set(leaders.map(({ pid }) => pid).filter((pid) => groups.has(pid) && pid !== own));
}

/** Whether the recorded process still runs and leads its group, as the launcher started it. */
function isRecorded({ pid, started }: ProcessIdentity): boolean {
  const entry = pid > 1 && pid !== process.pid ? entryOf(pid) : undefined;
  return entry !== undefined && entry.started === started && entry.group === pid;
}

/** These processes, the members of these groups, all processes with the session's marker, and the descendants of all of them. */
function familyOf(
  members: readonly ProcessIdentity[],
  groups: ReadonlySet<number>,
  session: SessionMarker | undefined,
): ProcessIdentity[] {
  const table = processTable(performance.now());
  const inGroups = [...table.entries.values()].filter(({ group }) => groups.has(group));
  const marked = session === undefined ? [] : allPids().filter((pid) => belongsToSession(pid, session));
  const roots = [...members, ...inGroups, ...marked.map(identify)];
  const family = new Map(roots.map(({ pid, started }) => [pid, started]));
  for (const { pid, started } of descendantsOf(family.keys(), table)) family.set(pid, started);
  for (let pid = process.pid; pid > 0; pid = table.entries.get(pid)?.parent ?? 0) family.delete(pid);
  return [...family].map(([pid, started]) => ({ pid, started }));
}

/** Polls at growing intervals until `isTrue` or the time is over: the system does not report the end of processes that are not children. */
export async function becomesTrue(isTrue: () => boolean, within_ms: number): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  for (let pause = 1; !isTrue(); pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
    if (performance.now() >= deadline) return false;
    await delay(pause);
  }
  return true;
}

/**
 * Whether `promise` settles in time. After a stall of the event loop, timers fire before pipes are read, so the pipes get one more poll before the
 * time is over.
 */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve, false), ms);
  });
  const settled = await Promise.race([promise.then(() => true), timeout]);
  clearTimeout(timer);
  return settled;
}
