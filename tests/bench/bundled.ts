import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");

/**
 * Gives `work` the path of the measured work as one JavaScript file, as users have the program: run from its sources, each measured
 * process would hold the 30 MiB of what makes JavaScript of them, and each start of a child would copy its pages. The file lies inside
 * the package, since the program looks for what is shipped with it in the folders above its own.
 */
export async function bundled<T>(work: (program: string) => Promise<T>): Promise<T> {
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "bosun-bench-"));
  const outfile = join(folder, "work.js");
  try {
    // In a process of its own: what a process has held counts as the most that those it starts have held.
    execFileSync(process.execPath, [join(import.meta.dirname, "bundle.ts"), outfile]);
    return await work(outfile);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
