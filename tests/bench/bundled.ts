import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");

/**
 * Bundles the measured work into one JavaScript file, like the shipped program, and passes its path to `work`. Run from sources, each
 * measured process would hold 30 MiB of compiler, and each child's start would copy its pages. The file lies inside the package, because
 * the program looks for its shipped files in the folders above it.
 */
export async function bundled<T>(work: (program: string) => Promise<T>): Promise<T> {
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "bosun-bench-"));
  const outfile = join(folder, "work.js");
  try {
    // A separate process: a child's peak memory starts at its parent's.
    execFileSync(process.execPath, [join(import.meta.dirname, "bundle.ts"), outfile]);
    return await work(outfile);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
