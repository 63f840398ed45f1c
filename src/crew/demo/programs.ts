import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** A running program. */
export interface Program {
  readonly pid: number;
  /** Its command line. */
  readonly command: string;
}

/** The programs that a process has started and that still run. */
export function childrenOf(parent: number): Program[] {
  return processes().flatMap(({ ppid, ...program }) => (ppid === parent ? [program] : []));
}

/** Those of the programs that still run. */
export function stillRunning(programs: readonly Program[]): Program[] {
  const table = new Map(processes().map(({ pid, command }) => [pid, command]));
  return programs.filter(({ pid, command }) => table.get(pid) === command);
}

function processes(): (Program & { readonly ppid: number })[] {
  return existsSync("/proc/self/stat") ? readProc() : readPs();
}

function readProc(): (Program & { readonly ppid: number })[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The name of the program stands in parentheses and may hold any character: what follows is counted from its end.
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state = "", ppid = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      return state === "Z" ? [] : [{ pid: Number(name), ppid: Number(ppid), command }];
    } catch {
      // The process has ended.
      return [];
    }
  });
}

function readPs(): (Program & { readonly ppid: number })[] {
  const table = execFileSync("ps", ["-A", "-ww", "-o", "pid=,ppid=,state=,args="], { encoding: "utf8" });
  return table.split("\n").flatMap((line) => {
    const [, pid, ppid, command] = /^\s*(\d+)\s+(\d+)\s+[^Z\s]\S*\s+(.*)$/.exec(line) ?? [];
    return command === undefined ? [] : [{ pid: Number(pid), ppid: Number(ppid), command }];
  });
}
