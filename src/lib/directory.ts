import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a directory, and those above it that are not there; one that is there is left alone. Throws what the system says. Node's own
 * `recursive` says of a disk that is read-only or broken that the directory does not exist (ENOENT), whatever the system said.
 */
export function makeDirectory(path: string): void {
  const above = dirname(path);
  if (!existsSync(above) && above !== path) makeDirectory(above);
  try {
    mkdirSync(path);
  } catch (error) {
    // Made in this moment by another process, or long ago.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
