import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The pids of a process group that could still work, by `ps`: another way of knowing than the code under test. */
export function livingInGroup(group: number): number[] {
  return execFileSync("ps", ["-A", "-o", "pid=", "-o", "pgid=", "-o", "stat="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, pgid, stat]) => Number(pgid) === group && !stat?.startsWith("Z"))
    .map(([pid]) => Number(pid));
}

/** The state letter that `ps` shows; empty for a process that is not there. */
export function stateOf(pid: number): string {
  const lines = execFileSync("ps", ["-A", "-o", "pid=", "-o", "stat="], { encoding: "utf8" }).trim().split("\n");
  const found = lines.map((line) => line.trim().split(/\s+/)).find(([other]) => Number(other) === pid);
  return found?.[1] ?? "";
}

export function isLiving(pid: number): boolean {
  return /^[^Z]/.test(stateOf(pid));
}

/** Puts things away in the reverse order, for `afterEach`. */
export class Cleanup {
  readonly #tasks: (() => Promise<void> | void)[] = [];

  add(task: () => Promise<void> | void): void {
    this.#tasks.push(task);
  }

  async run(): Promise<void> {
    for (const task of this.#tasks.splice(0).toReversed()) await task();
  }
}

export async function scratchDirectory(cleanup: Cleanup): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "bosun-agents-"));
  cleanup.add(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Sends SIGKILL to a process (or a group, if negative) that a test had started, whatever became of it. */
export function killStray(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
