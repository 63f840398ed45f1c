import { setTimeout as delay } from "node:timers/promises";
import type { ProcessIdentity } from "../kernel/agent.ts";
import { belongsTo, type SessionMark } from "./mark.ts";
import {
  allPids,
  descendantsOf,
  entryOf,
  fewGivenSince,
  type ProcessEntry,
  processTable,
  startOf,
} from "./process-table.ts";

const LONGEST_POLL_MS = 50;
/** How long what was killed may take to vanish; a process in an uninterruptible call can outlast it. */
export const AFTER_KILL_MS = 1_000;
/** In so short a time no machine gives so many pids that it comes to the same ones again. */
const NO_CIRCLE_MS = 1_000;

/**
 * The identity of a child that was just started and not yet waited for, so that its process entry still exists. Where the
 * platform has no `/proc` it costs one call of `ps`; `started` is empty where neither answers.
 */
export function identify(pid: number): ProcessIdentity {
  return { pid, started: startOf(pid) };
}

/** Whether that very process still runs: the same pid and the same start time, and not a zombie that nobody reaped yet. */
export function findProcess({ pid, started }: ProcessIdentity): "alive" | "gone" {
  return pid > 1 && entryOf(pid)?.started === started ? "alive" : "gone";
}

/**
 * Whether anything that could still work is in the group, which was there at `since` (`performance.now()`). A zombie counts for nothing:
 * under an init that never reaps it stays.
 */
export function groupLives(group: number, since: number): boolean {
  if (!signalGroup(group, 0)) return false;
  return entryOf(group)?.group === group || membersOf(group, since).length > 0;
}

/** Those of a group that could still work, at `since` or later; its leader, who was started then, is the oldest. */
export function membersOf(group: number, since: number): ProcessEntry[] {
  const younger = performance.now() - since < NO_CIRCLE_MS ? fewGivenSince(group) : undefined;
  const entries = younger
    ? [group, ...younger].flatMap((pid) => entryOf(pid) ?? [])
    : [...processTable(since).entries.values()];
  return entries.filter((entry) => entry.group === group);
}

/** Sends to every process of a group; `0` only asks. False if there was nobody whom it could reach, zombies included. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/** Sends to that very process, if it still is there. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (findProcess(identity) === "gone") return;
  try {
    process.kill(identity.pid, signal);
  } catch {
    // It went in this moment, or is not ours to signal any more.
  }
}

/**
 * Ends what a dead scheduler's agents left: SIGTERM, `grace_ms`, then SIGKILL. That is each recorded process that still is the one
 * that was recorded, its group and everything below it, and wherever it has gone everything that carries this session's mark in its
 * environment (Linux only). A pid or a group that has been used again by others is not touched, nor is this process or any above it.
 * Returns what survived SIGKILL.
 */
export async function endLeftovers(
  identities: readonly ProcessIdentity[],
  grace_ms: number,
  session?: SessionMark,
): Promise<readonly ProcessIdentity[]> {
  const leaders = identities.filter(isItself);
  const known = familyOf(leaders, new Set(leaders.map(({ pid }) => pid)), session);
  for (const identity of known) {
    signalProcess(identity, "SIGTERM");
    // A stopped process does not see SIGTERM until it goes on.
    signalProcess(identity, "SIGCONT");
  }
  await comesToBe(() => !known.some(isAlive), grace_ms);
  // Looked for again as long as any is found, since it may have started others meanwhile.
  const deadline = performance.now() + AFTER_KILL_MS;
  for (let stubborn = known.filter(isAlive); ; ) {
    const groups = groupsOf(leaders, stubborn);
    // Before any is killed, since what has left a group is found by those who lead to it.
    const family = familyOf(stubborn, groups, session);
    // All at once, so that none of a group starts another between being looked for and being killed.
    for (const group of groups) signalGroup(group, "SIGKILL");
    for (const identity of family) signalProcess(identity, "SIGKILL");
    await comesToBe(() => !family.some(isAlive), deadline - performance.now());
    stubborn = family.filter(isAlive);
    if (family.length === 0 || performance.now() >= deadline) return stubborn;
  }
}

/** The groups of these leaders that are still their own, as long as one of the old ones is in each, and that this process is not in. */
function groupsOf(leaders: readonly ProcessIdentity[], old: readonly ProcessIdentity[]): ReadonlySet<number> {
  const groups = new Set(old.flatMap(({ pid }) => entryOf(pid)?.group ?? []));
  const mine = entryOf(process.pid)?.group;
  return new Set(leaders.map(({ pid }) => pid).filter((pid) => groups.has(pid) && pid !== mine));
}

/** Whether it is the process that was recorded, still leading its group as the launcher made it. */
function isItself({ pid, started }: ProcessIdentity): boolean {
  const entry = pid > 1 && pid !== process.pid ? entryOf(pid) : undefined;
  return entry !== undefined && entry.started === started && entry.group === pid;
}

/** These processes, these groups, everything that bears the session's mark, and everything below any of them. */
function familyOf(
  members: readonly ProcessIdentity[],
  groups: ReadonlySet<number>,
  session: SessionMark | undefined,
): ProcessIdentity[] {
  const table = processTable(performance.now());
  const inGroups = [...table.entries.values()].filter(({ group }) => groups.has(group));
  const marked = session === undefined ? [] : allPids().filter((pid) => belongsTo(pid, session));
  const roots = [...members, ...inGroups, ...marked.map(identify)];
  const family = new Map(roots.map(({ pid, started }) => [pid, started]));
  for (const { pid, started } of descendantsOf(family.keys(), table)) family.set(pid, started);
  for (let pid = process.pid; pid > 0; pid = table.entries.get(pid)?.parent ?? 0) family.delete(pid);
  return [...family].map(([pid, started]) => ({ pid, started }));
}

function isAlive(identity: ProcessIdentity): boolean {
  return findProcess(identity) === "alive";
}

/** Whether it comes to be so in time: the system tells nobody when a stranger's process ends, so it is looked at, ever less often. */
export async function comesToBe(isSo: () => boolean, within_ms: number): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  for (let pause = 1; !isSo(); pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
    if (performance.now() >= deadline) return false;
    await delay(pause);
  }
  return true;
}
