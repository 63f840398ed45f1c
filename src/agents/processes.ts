import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessIdentity } from "../kernel/agent.ts";

const LONGEST_POLL_MS = 50;
const AFTER_KILL_MS = 1_000;
/** Every process that an agent starts inherits this variable, unless it clears its environment. */
const MARK = "BOSUN_SESSION_ID=";

interface ProcessEntry {
  readonly living: boolean;
  readonly group: number;
  readonly started: string;
}

/**
 * The identity of a child that was just started and not yet waited for, so that its process entry still exists. Where the
 * platform has no `/proc` it costs one call of `ps`; `started` is empty where neither answers.
 */
export function identify(pid: number): ProcessIdentity {
  return { pid, started: entryOf(pid)?.started ?? "" };
}

/** Whether that very process still runs: the same pid and the same start time, and not a zombie that nobody reaped yet. */
export function findProcess(identity: ProcessIdentity): "alive" | "gone" {
  const entry = identity.pid > 1 ? entryOf(identity.pid) : undefined;
  return entry?.living === true && entry.started === identity.started ? "alive" : "gone";
}

/** Whether anything that could still work is in the group. A zombie counts for nothing: under an init that never reaps it stays. */
export function groupLives(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  return process.platform !== "linux" || membersOf(group).length > 0;
}

/** Sends to every process of a group; `0` only asks. False if there was nobody whom it could reach, zombies included. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

/**
 * Ends what a dead scheduler's agents left: SIGTERM to each group, `grace_ms`, then SIGKILL. A group is only touched when its
 * leader is the very process that was recorded or, with the leader gone, when members carry an agent's environment (Linux
 * only); so a pid that has been used again is safe. Returns the identities of which something survived SIGKILL.
 */
export async function endLeftovers(
  identities: readonly ProcessIdentity[],
  grace_ms: number,
): Promise<readonly ProcessIdentity[]> {
  const left = identities.filter(isLeftover);
  for (const { pid } of left) {
    signalGroup(pid, "SIGTERM");
    // A stopped process does not see SIGTERM until it goes on.
    signalGroup(pid, "SIGCONT");
  }
  const stubborn = await remaining(left, grace_ms);
  for (const { pid } of stubborn) signalGroup(pid, "SIGKILL");
  return remaining(stubborn, AFTER_KILL_MS);
}

function isLeftover(identity: ProcessIdentity): boolean {
  const { pid, started } = identity;
  if (pid <= 1 || pid === process.pid) return false;
  const leader = entryOf(pid);
  if (leader?.living === true) return leader.started === started && leader.group === pid;
  return membersOf(pid).some(carriesMark);
}

async function remaining(identities: readonly ProcessIdentity[], within_ms: number): Promise<ProcessIdentity[]> {
  const deadline = performance.now() + within_ms;
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
    const left = identities.filter(({ pid }) => groupLives(pid));
    if (left.length === 0 || performance.now() >= deadline) return left;
    await delay(pause);
  }
}

function entryOf(pid: number): ProcessEntry | undefined {
  return process.platform === "linux" ? entryFromProc(pid) : entryFromPs(pid);
}

/** proc_pid_stat(5). The second field is the program's name, which may hold spaces and parentheses: fields count from the last `)`. */
function entryFromProc(pid: number): ProcessEntry | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, , group] = fields;
  return { living: state !== "Z" && state !== "X", group: Number(group), started: fields[19] ?? "" };
}

function entryFromPs(pid: number): ProcessEntry | undefined {
  let line: string;
  try {
    line = execFileSync("ps", ["-o", "stat=", "-o", "pgid=", "-o", "lstart=", "-p", String(pid)], {
      encoding: "latin1",
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return undefined;
  }
  const [state = "Z", group, ...started] = line.trim().split(/\s+/);
  return { living: !state.startsWith("Z"), group: Number(group), started: started.join(" ") };
}

function membersOf(group: number): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const entry = entryFromProc(pid);
      return entry?.living === true && entry.group === group;
    });
}

function carriesMark(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1")
      .split("\0")
      .some((variable) => variable.startsWith(MARK));
  } catch {
    return false;
  }
}
