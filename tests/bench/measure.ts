import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { inheritedReplaced } from "../../src/agents/inherited-descriptors.ts";
import { SCHEDULER_NODE_ARGUMENTS } from "../../src/runtime/memory.ts";

/** How much to measure, and where the profiles go, if wanted. */
export interface Extent {
  readonly quick: boolean;
  /** Measured rounds; a warm-up round before them is dropped. */
  readonly rounds: number;
  readonly profile: string | undefined;
  /** The bundled work; its arguments are the name of the work and its input as JSON. */
  readonly program: string;
  /**
   * Where everything measured is written. Nothing is deleted before the end: ext4 without a journal creates files slowly for minutes
   * after many deletions.
   */
  readonly scratch: string;
}

/** The built program. */
export const PROGRAM = join(import.meta.dirname, "..", "..", "dist", "bin.js");

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The median of a figure over the rounds of an arm. */
export function medianOf<T>(results: readonly T[], figure: (result: T) => number): number {
  return median(results.map(figure));
}

/**
 * Runs the arms alternately, so that a noisy minute hits all of them, and returns each arm's results without those of the first rounds, which
 * warm the caches.
 */
export async function interleaved<T extends Record<string, () => Promise<unknown>>>(
  rounds: number,
  arms: T,
  warming = 1,
): Promise<{ [K in keyof T]: Awaited<ReturnType<T[K]>>[] }> {
  const results: Record<string, unknown[]> = Object.fromEntries(Object.keys(arms).map((name) => [name, []]));
  for (let round = -warming; round < rounds; round++) {
    for (const [name, arm] of Object.entries(arms)) {
      const result = await arm();
      if (round >= 0) results[name]?.push(result);
    }
  }
  return results as { [K in keyof T]: Awaited<ReturnType<T[K]>>[] };
}

/**
 * Runs one piece of measured work (`work.ts`) in a new process, started like a scheduler, so memory and compiled code are its own.
 * Descriptors that this process inherited, which would cost each start there, are replaced.
 */
export async function inProcess<T>(
  work: string,
  input: object,
  extent: Pick<Extent, "program" | "profile">,
): Promise<T> {
  const profiled = extent.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${extent.profile}`];
  const args = ["--expose-gc", ...SCHEDULER_NODE_ARGUMENTS, ...profiled, extent.program, work, JSON.stringify(input)];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit", ...inheritedReplaced()],
  }) as ChildProcessByStdio<null, Readable, null>;
  const exited = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const said = await buffer(child.stdout);
  const code = await exited;
  if (code !== 0) throw new Error(`the measured work "${work}" ended with ${code}`);
  return JSON.parse(said.toString("utf8")) as T;
}

/** A program's wall time from start to exit, in ms. Throws unless it exits with 0. */
export async function wallTime(command: string, args: readonly string[], directory?: string): Promise<number> {
  const began = performance.now();
  const child = spawn(command, args, { stdio: "ignore", ...(directory === undefined ? {} : { cwd: directory }) });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
  return performance.now() - began;
}

/** Creates a directory to measure in. */
export function newDirectory({ scratch }: Pick<Extent, "scratch">): string {
  return mkdtempSync(join(scratch, "measured-"));
}

/** Prints a table: first column left, numbers right. */
export function table(title: string, head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const lines = [head, ...rows.map((row) => row.map(shown))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  console.log(`\n${title}`);
  for (const line of lines) {
    const cells = line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${cells.join("  ")}`);
  }
}

/** Formats a target beside the measured figure. */
export function target(what: string, reached: number, wanted: string, holds: boolean): void {
  console.log(`  ${holds ? "reached" : "MISSED "}  ${what}: ${shown(reached)} (target ${wanted})`);
}

function shown(value: string | number): string {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return "-";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
