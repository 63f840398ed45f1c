import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { SCHEDULER_NODE_ARGUMENTS } from "../../src/runtime/memory.ts";

/** How much is measured, and where the profiles of the measured processes go, if anywhere. */
export interface Extent {
  readonly quick: boolean;
  /** Measured rounds; one more goes before them and is dropped. */
  readonly rounds: number;
  readonly profile: string | undefined;
  /** The measured work as one file: it is told the name of the work, and its input as JSON. */
  readonly program: string;
  /**
   * Where everything measured is written. Nothing of it is taken away before the end: a file system without a journal (ext4) makes
   * each file more slowly for minutes after many were deleted.
   */
  readonly scratch: string;
}

/** The built program, as users have it. */
export const PROGRAM = join(import.meta.dirname, "..", "..", "dist", "bin.js");

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The median of one figure over the rounds of an arm. */
export function medianOf<T>(results: readonly T[], figure: (result: T) => number): number {
  return median(results.map(figure));
}

/**
 * Runs arms alternately, so that a noisy minute falls on all of them, and gives each arm's results. The first round only warms
 * the disk's and the processor's caches.
 */
export async function interleaved<T extends Record<string, () => Promise<unknown>>>(
  rounds: number,
  arms: T,
): Promise<{ [K in keyof T]: Awaited<ReturnType<T[K]>>[] }> {
  const results: Record<string, unknown[]> = Object.fromEntries(Object.keys(arms).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, arm] of Object.entries(arms)) {
      const result = await arm();
      if (round > 0) results[name]?.push(result);
    }
  }
  return results as { [K in keyof T]: Awaited<ReturnType<T[K]>>[] };
}

/**
 * Does one piece of measured work (`work.ts`) in a process of its own, so that its memory and its compiled code are its own; it is
 * started as a scheduler is.
 * `left_open` is the number of a descriptor that it finds open, as careless parents leave some.
 */
export async function inProcess<T>(
  work: string,
  input: object,
  extent: Pick<Extent, "program" | "profile">,
  left_open = 2,
): Promise<T> {
  const profiled = extent.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${extent.profile}`];
  const args = ["--expose-gc", ...SCHEDULER_NODE_ARGUMENTS, ...profiled, extent.program, work, JSON.stringify(input)];
  const others = Array.from({ length: left_open - 2 }, (_, index) => (index + 3 < left_open ? "ignore" : 2));
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit", ...others],
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

/** Wall time of a program from its start to its exit, in ms. Throws if it does not exit with 0. */
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

/** A new directory, to be measured in. */
export function newDirectory({ scratch }: Pick<Extent, "scratch">): string {
  return mkdtempSync(join(scratch, "measured-"));
}

/** Prints a table: the first column to the left, numbers to the right. */
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

/** A target beside what was measured. */
export function target(what: string, reached: number, wanted: string, holds: boolean): void {
  console.log(`  ${holds ? "reached" : "MISSED "}  ${what}: ${shown(reached)} (target ${wanted})`);
}

function shown(value: string | number): string {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return "-";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
