import { execFileSync } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { sandboxMechanism } from "../../src/agents/isolation/probe.ts";
import type { SandboxMechanism } from "../../src/agents/isolation/mechanism.ts";
import { programFile } from "../../src/lib/program-file.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";

/** A folder with only these programs, to be the whole `PATH`. */
export async function pathOf(directory: string, programs: readonly string[]): Promise<string> {
  const folder = join(directory, `only-${programs.join("-") || "nothing"}`);
  await mkdir(folder);
  for (const program of programs) {
    const file = programFile(program, "/", PATH);
    if (file !== undefined) await symlink(file, join(folder, program));
  }
  return folder;
}

/** The mechanisms of this machine for the sandbox `processes`, each with a name for tests. */
export async function availableSandboxes(): Promise<{ readonly name: string; readonly mechanism: SandboxMechanism }[]> {
  const found: { name: string; mechanism: SandboxMechanism }[] = [];
  const best = await sandboxMechanism("processes", PATH);
  if (best.ok && best.value.by === "unshare") {
    found.push({ name: best.value.user ? "unshare" : "unshare as root", mechanism: best.value });
    if (!best.value.user) found.push({ name: "unshare", mechanism: { ...best.value, user: true } });
  }
  const files = await sandboxMechanism("files", PATH);
  if (files.ok) found.push({ name: "bubblewrap", mechanism: files.value });
  return found;
}

/** The pids of living processes with this word in their command line. */
export function livingWith(word: string): number[] {
  return execFileSync("ps", ["-A", "-o", "pid=,stat=,args="], { encoding: "utf8" })
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((line) => line?.[2]?.startsWith("Z") === false && line[3]?.includes(word))
    .map((line) => Number(line?.[1]));
}
