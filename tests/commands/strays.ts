import { execFileSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { dirname, sep } from "node:path";
import { onTestFinished } from "vitest";
import { type Rig, until } from "./rig.ts";
import { killStray } from "../processes.ts";

/** Kills after the test every process left in the rig; a detached scheduler has no parent that would. */
export function endAfterwards(here: Rig): Rig {
  onTestFinished(async () => {
    for (const pid of strays(here)) killStray(pid);
    await everyProcessEnds(here);
  });
  return here;
}

export function everyProcessEnds(here: Rig): Promise<void> {
  return until("every process to be gone", () => strays(here).length === 0);
}

/** The processes whose directory is in the rig: schedulers, viewers, agents. */
export function strays(here: Rig): number[] {
  return processesIn(dirname(here.home));
}

function processesIn(directory: string): number[] {
  if (process.platform !== "linux") return processesNaming(directory);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => `${directoryOf(pid)}${sep}`.startsWith(`${directory}${sep}`));
}

/** A zombie has no directory any more. */
function directoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

function processesNaming(directory: string): number[] {
  return execFileSync("ps", ["-axo", "pid=,command="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(directory))
    .map((line) => Number.parseInt(line, 10));
}
