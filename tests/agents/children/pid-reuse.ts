/**
 * Runs in a process namespace in which it can set the next pid. Starts processes whose pids start over from the lowest or reach the same
 * number again, and prints which of them are found.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { identify, groupMembers } from "../../../src/agents/processes.ts";
import { pidsGivenSince, processTable } from "../../../src/agents/process-table.ts";

const HIGHEST = Number(readFileSync("/proc/sys/kernel/pid_max", "utf8")) - 1;
/** Where pids start over: lower ones are used only once. */
const LOWEST = 300;
/** More pids than are looked up one by one. */
const MANY = 1_000;

function setNextPid(pid: number): void {
  writeFileSync("/proc/sys/kernel/ns_last_pid", String(pid - 1));
}

/** A shell with that pid, in its own group, that starts another process on request. */
function shell(pid: number) {
  setNextPid(pid);
  const since = performance.now();
  const child = spawn("sh", ["-c", "while read -r _; do sleep 600 & echo $!; done"], { detached: true });
  const { pid: group } = identify(child.pid ?? 0);
  const startOther = async (as: number): Promise<number> => {
    setNextPid(as);
    child.stdin.write("now\n");
    return Number(String((await once(child.stdout, "data"))[0]));
  };
  const isMember = (member: number, from = since) => groupMembers(group, from).some((found) => found.pid === member);
  return { group, startOther, isMember };
}

const atTheEnd = shell(HIGHEST - 1);
const before = await atTheEnd.startOther(HIGHEST);
const after = await atTheEnd.startOther(LOWEST);
const youngerAtTheEnd = pidsGivenSince(atTheEnd.group);

const inTheMiddle = shell(LOWEST + MANY);
const late = await inTheMiddle.startOther(inTheMiddle.group + MANY);
const youngerInTheMiddle = pidsGivenSince(inTheMiddle.group);
setNextPid(inTheMiddle.group + 1);
const afterAllPids = inTheMiddle.isMember(late, performance.now() - 60_000);

// Without waiting in between: a table is cached until the next turn of the event loop.
processTable(0);
const amongMany = shell(LOWEST + 10 * MANY);
setNextPid(amongMany.group + MANY);

console.log(
  JSON.stringify({
    isLower: [before, after].map((pid) => pid < atTheEnd.group),
    inGroupAtTheEnd: [before, after].map((pid) => atTheEnd.isMember(pid)),
    amongYoungerAtTheEnd: [before, after].map((pid) => youngerAtTheEnd.includes(pid)),
    amongYoungerInTheMiddle: youngerInTheMiddle.includes(late),
    strangersAmongYounger: [process.pid, atTheEnd.group].map((pid) => youngerInTheMiddle.includes(pid)),
    inGroupAfterAllPids: afterAllPids,
    inGroupAmongMany: amongMany.isMember(amongMany.group),
  }),
);
process.exit();
