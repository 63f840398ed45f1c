import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { compiledOnce } from "./built.ts";

const root = join(import.meta.dirname, "..");
let folder = "";

/**
 * Builds the program once for all test files, which start it hundreds of times: bundled, it starts in a third of the time. The build is
 * inside the package, because the program looks for its shipped files in the folders above its own.
 */
export function setup(): void {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "bosun-build-"));
  execFileSync(process.execPath, [join(root, "build.config.ts"), folder], { cwd: root });
  mkdirSync(join(folder, "bin"));
  symlinkSync("../bin.js", join(folder, "bin", "bosun"));
  chmodSync(join(folder, "bin.js"), 0o755);
  process.env.BOSUN_BUILD = folder;
  // Each start compiles the same few files.
  Object.assign(process.env, compiledOnce());
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
