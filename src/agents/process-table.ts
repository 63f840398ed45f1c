import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { ProcessIdentity } from "../kernel/agent.ts";

/** A process as the system reports it. A zombie does not count as living: it does nothing, and remains under an init that does not reap it. */
export interface ProcessEntry extends ProcessIdentity {
  readonly living: boolean;
  readonly parent: number;
  readonly group: number;
  /** Whether it is a job in the background of its terminal: the system stops it if it takes the terminal. */
  readonly background: boolean;
}

/** All living processes at one moment. */
export interface ProcessTable {
  readonly entries: ReadonlyMap<number, ProcessEntry>;
  /** By the parent's pid. */
  readonly children: ReadonlyMap<number, readonly ProcessEntry[]>;
}

/** PF_EXITING: the process runs no more code. */
const EXITING = 4;

let shared: { readonly table: ProcessTable; readonly read_at: number } | undefined;

/**
 * All living processes, as of `since` (`performance.now()`) or later: an older table lacks processes started since. Reading takes at least 10 µs per
 * process, so callers in the same turn of the event loop share a table that is new enough: ending a thousand agents together reads it once.
 */
export function processTable(since: number): ProcessTable {
  if (shared === undefined || shared.read_at < since) {
    const read_at = performance.now();
    shared = { table: tableOf(process.platform === "linux" ? readProc() : readPs(["-A"])), read_at };
    setImmediate(() => {
      shared = undefined;
    });
  }
  return shared.table;
}

/** The current entry of a process; undefined if it is gone or a zombie. */
export function entryOf(pid: number): ProcessEntry | undefined {
  const entry = anyEntryOf(pid);
  return entry?.living === true ? entry : undefined;
}

/** The entry of a process, zombies included. */
export function anyEntryOf(pid: number): ProcessEntry | undefined {
  return process.platform === "linux" ? entryFromProc(pid) : readPs(["-p", String(pid)])[0];
}

/** The descendants of these processes, without the processes themselves. */
export function descendantsOf(pids: Iterable<number>, table: ProcessTable): ProcessEntry[] {
  const found = new Map<number, ProcessEntry>();
  const open = [...pids];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const child of table.children.get(pid) ?? []) {
      if (found.has(child.pid)) continue;
      found.set(child.pid, child);
      open.push(child.pid);
    }
  }
  return [...found.values()];
}

/** The environment that a process was started with, `NAME=value`; empty if it cannot be read. */
export function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** Maximum number of pids that are looked up one by one, which costs less than listing all processes. */
const FEW = 50;

/**
 * The pids that processes younger than this one can have: the system assigns pids in ascending order and then starts over. Incomplete if it has gone
 * through all pids meanwhile. Empty without `/proc`.
 */
export function pidsGivenSince(pid: number): number[] {
  if (process.platform !== "linux") return [];
  const last = lastPid();
  return (
    fewBetween(pid, last) ??
    allPids().filter((other) => (last >= pid ? other > pid && other <= last : other > pid || other <= last))
  );
}

/** `pidsGivenSince` if there are few; undefined if there are many, and without `/proc`. */
export function fewGivenSince(pid: number): number[] | undefined {
  return process.platform === "linux" ? fewBetween(pid, lastPid()) : undefined;
}

function lastPid(): number {
  return Number(readFileSync("/proc/loadavg", "utf8").trim().split(" ").at(-1));
}

function fewBetween(pid: number, last: number): number[] | undefined {
  const given = last - pid;
  if (given < 0 || given > FEW) return undefined;
  return Array.from({ length: given }, (_, index) => pid + 1 + index).filter(isProcess);
}

/** Threads share the numbering of processes: `/proc` does not list them, but has an entry for each. */
function isProcess(pid: number): boolean {
  if (!existsSync(`/proc/${pid}`)) return false;
  try {
    return /^Tgid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] === String(pid);
  } catch {
    // It ended in the meantime.
    return false;
  }
}

/** All pids; empty without `/proc`. */
export function allPids(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    return pid > 0 ? pid : [];
  });
}

/** The entries of processes as `ps` prints them, for platforms without `/proc`. Does not use execa, because `status` would have to load it. */
export function readPs(which: readonly string[]): ProcessEntry[] {
  const columns = ["pid", "ppid", "pgid", "stat", "lstart"].flatMap((column) => ["-o", `${column}=`]);
  let lines: string;
  try {
    lines = execFileSync("ps", [...which, ...columns], {
      encoding: "latin1",
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return [];
  }
  return lines.split("\n").flatMap((line) => {
    const [pid, parent, group, state = "Z", ...started] = line.trim().split(/\s+/);
    if (pid === "" || pid === undefined) return [];
    const is = { living: !state.startsWith("Z"), background: !state.includes("+") };
    return { pid: Number(pid), ...is, parent: Number(parent), group: Number(group), started: started.join(" ") };
  });
}

function readProc(): ProcessEntry[] {
  return allPids().flatMap((pid) => entryFromProc(pid) ?? []);
}

/** Parses proc_pid_stat(5). The second field, the program's name, may hold spaces and parentheses, so fields count from the last `)`. */
function entryFromProc(pid: number): ProcessEntry | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, , , foreground, flags] = fields;
  // The first process of a namespace keeps exiting until the processes of the namespace are reaped.
  const living = state !== "Z" && state !== "X" && (Number(flags) & EXITING) === 0;
  const background = Number(foreground) > 0 && foreground !== group;
  return { pid, living, background, parent: Number(parent), group: Number(group), started: fields[19] ?? "" };
}

function tableOf(all: readonly ProcessEntry[]): ProcessTable {
  const entries = all.filter(({ living }) => living);
  return {
    entries: new Map(entries.map((entry) => [entry.pid, entry])),
    children: Map.groupBy(entries, ({ parent }) => parent),
  };
}
