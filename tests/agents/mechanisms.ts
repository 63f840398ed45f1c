import { execFileSync } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { sandboxMechanism } from "../../src/agents/isolation/machine.ts";
import type { SandboxMechanism } from "../../src/agents/isolation/mechanism.ts";
import { programFile } from "../../src/agents/program-file.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";

/** A folder that holds these programs and nothing else, to be the whole `PATH`. */
export async function pathOf(directory: string, programs: readonly string[]): Promise<string> {
  const folder = join(directory, `only-${programs.join("-") || "nothing"}`);
  await mkdir(folder);
  for (const program of programs) {
    const file = programFile(program, "/", PATH);
    if (file !== undefined) await symlink(file, join(folder, program));
  }
  return folder;
}

/** The ways to keep processes apart that this machine has, each with a name for a test. */
export async function waysOfThisMachine(): Promise<{ readonly name: string; readonly way: SandboxMechanism }[]> {
  const ways: { name: string; way: SandboxMechanism }[] = [];
  const best = await sandboxMechanism("processes", PATH);
  if (best.ok && best.value.by === "unshare") {
    ways.push({ name: best.value.user ? "unshare" : "unshare as root", way: best.value });
    if (!best.value.user) ways.push({ name: "unshare", way: { ...best.value, user: true } });
  }
  const files = await sandboxMechanism("files", PATH);
  if (files.ok) ways.push({ name: "bubblewrap", way: files.value });
  return ways;
}

/** The pids of living processes whose command line holds this word. */
export function livingWith(word: string): number[] {
  return execFileSync("ps", ["-A", "-o", "pid=,stat=,args="], { encoding: "utf8" })
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((line) => line?.[2]?.startsWith("Z") === false && line[3]?.includes(word))
    .map((line) => Number(line?.[1]));
}
