import { readFileSync } from "node:fs";

/** Whether a process is stopped (SIGSTOP) and has not ended. */
export function frozen(pid: number | undefined): boolean {
  try {
    return /^\d+ \(.*\) T/s.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
