/**
 * In a namespace of processes in which it may say which pid is given next: starts some whose pids begin again from the lowest or come to
 * the same place again, and prints what is found of them.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { identify, membersOf } from "../../../src/agents/processes.ts";
import { pidsGivenSince, processTable } from "../../../src/agents/process-table.ts";

const HIGHEST = Number(readFileSync("/proc/sys/kernel/pid_max", "utf8")) - 1;
/** Where a new round begins: those below are given only once. */
const LOWEST = 300;
/** More than are asked after one by one. */
const MANY = 1_000;

function giveNext(pid: number): void {
  writeFileSync("/proc/sys/kernel/ns_last_pid", String(pid - 1));
}

/** A shell with that pid, in its own group, that starts another process when it is told to. */
function shell(pid: number) {
  giveNext(pid);
  const since = performance.now();
  const child = spawn("sh", ["-c", "while read -r _; do sleep 600 & echo $!; done"], { detached: true });
  const { pid: group } = identify(child.pid ?? 0);
  const startOther = async (as: number): Promise<number> => {
    giveNext(as);
    child.stdin.write("now\n");
    return Number(String((await once(child.stdout, "data"))[0]));
  };
  const isMember = (member: number, from = since) => membersOf(group, from).some((found) => found.pid === member);
  return { group, startOther, isMember };
}

const atTheEnd = shell(HIGHEST - 1);
const before = await atTheEnd.startOther(HIGHEST);
const after = await atTheEnd.startOther(LOWEST);
const youngerAtTheEnd = pidsGivenSince(atTheEnd.group);

const inTheMiddle = shell(LOWEST + MANY);
const late = await inTheMiddle.startOther(inTheMiddle.group + MANY);
const youngerInTheMiddle = pidsGivenSince(inTheMiddle.group);
giveNext(inTheMiddle.group + 1);
const afterACircle = inTheMiddle.isMember(late, performance.now() - 60_000);

// Nothing is waited for in between: a table is kept until the event loop goes on.
processTable(0);
const amongMany = shell(LOWEST + 10 * MANY);
giveNext(amongMany.group + MANY);

console.log(
  JSON.stringify({
    isLower: [before, after].map((pid) => pid < atTheEnd.group),
    inGroupAtTheEnd: [before, after].map((pid) => atTheEnd.isMember(pid)),
    amongYoungerAtTheEnd: [before, after].map((pid) => youngerAtTheEnd.includes(pid)),
    amongYoungerInTheMiddle: youngerInTheMiddle.includes(late),
    strangersAmongYounger: [process.pid, atTheEnd.group].map((pid) => youngerInTheMiddle.includes(pid)),
    inGroupAfterACircle: afterACircle,
    inGroupAmongMany: amongMany.isMember(amongMany.group),
  }),
);
process.exit();
