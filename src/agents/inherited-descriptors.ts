import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { devNull } from "node:os";

/** An entry of the `stdio` option beyond the first three. */
export type StdioEntry = "ignore" | number;

/** O_CLOEXEC, as in proc_pid_fdinfo(5). */
const CLOSED_ON_EXEC = 0o2000000;

/** Only descriptors below this one are closed for children: each costs a little at every start. */
const MAX_DESCRIPTOR = 1_024;

/** Descriptors that the start of a process needs above the highest that it replaces. */
const ROOM = 16;

/**
 * The `stdio` entries of a child beyond its first three. Children do not inherit the descriptors that Node opens, but they do inherit those that this
 * process inherited itself, such as a pipe whose end a parent waits for: these are replaced with /dev/null. One at the limit of open files (`ulimit -n`)
 * or above cannot be: children inherit it.
 */
export function inheritedReplaced(): StdioEntry[] {
  const all = inherited();
  const highest = openFilesLimit() - all.length - ROOM;
  const replaced = all.filter((descriptor) => descriptor < highest);
  const nothing = replaced.length === 0 ? 0 : openSync(devNull, "r+");
  return Array.from({ length: Math.max(2, ...replaced) - 2 }, (_, index) =>
    replaced.includes(index + 3) ? nothing : "ignore",
  );
}

/** Closes what this process inherited: a process that outlives its caller holds none of its locks. */
export function closeInherited(): void {
  for (const descriptor of inherited()) closeSync(descriptor);
}

function inherited(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && descriptor < MAX_DESCRIPTOR && isInheritable(descriptor));
}

function openFilesLimit(): number {
  if (process.platform !== "linux") return Number.POSITIVE_INFINITY;
  const [, soft = ""] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
  return soft === "" ? Number.POSITIVE_INFINITY : Number(soft);
}

function isInheritable(descriptor: number): boolean {
  try {
    // A parent has already replaced it.
    if (readlinkSync(`/proc/self/fd/${descriptor}`) === devNull) return false;
    const [, flags = ""] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // The descriptor of the listing itself, which is closed by now.
    return false;
  }
}
