import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";

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
    await build({
      input: join(import.meta.dirname, "work.ts"),
      platform: "node",
      external: ["better-sqlite3"],
      output: { file: outfile, codeSplitting: false },
    });
    return await work(outfile);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
