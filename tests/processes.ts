import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

// Running processes, by /proc and `ps`, without the code under test.

/** The living processes of a session, by their environment; of a home, where its id may be in use elsewhere. */
export function living(session_id: string, home?: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
        if (!environment.includes(`BOSUN_SESSION_ID=${session_id}`)) return false;
        if (home && !environment.some((entry) => entry.startsWith(`BOSUN_ARTIFACTS_DIR=${home}/`))) return false;
        return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "latin1")) && !isExiting(Number(pid));
      } catch {
        return false;
      }
    })
    .map(Number);
}

/**
 * Whether a process is exiting (PF_EXITING): it runs no more code, but `ps` shows it until its memory is freed.
 */
function isExiting(pid: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const flags = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[6];
    return (Number(flags) & 4) !== 0;
  } catch {
    return true;
  }
}

/** The pids of a process group that can still work. */
export function livingInGroup(group: number): number[] {
  return execFileSync("ps", ["-A", "-o", "pid=", "-o", "pgid=", "-o", "stat="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, pgid, stat]) => Number(pgid) === group && !stat?.startsWith("Z"))
    .map(([pid]) => Number(pid))
    .filter((pid) => !isExiting(pid));
}

/** The state that `ps` shows; empty for a process that does not exist. */
export function stateOf(pid: number): string {
  const lines = execFileSync("ps", ["-A", "-o", "pid=", "-o", "stat="], { encoding: "utf8" }).trim().split("\n");
  const found = lines.map((line) => line.trim().split(/\s+/)).find(([other]) => Number(other) === pid);
  return found?.[1] ?? "";
}

/** Whether a process exists and is neither a zombie nor exiting. */
export function isLiving(pid: number): boolean {
  return /^[^Z]/.test(stateOf(pid)) && !isExiting(pid);
}

/** Sends SIGKILL to a process that a test started, or to a group if negative; ignores one that has ended. */
export function killStray(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {}
}
