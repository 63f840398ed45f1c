import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a directory, and those above it that are not there; one that is there is left alone. Throws what the system says. Node's own
 * `recursive` says of a disk that is read-only or broken that the directory does not exist (ENOENT), whatever the system said.
 */
export function makeDirectory(path: string): void {
  if (isDirectory(path)) return;
  if (dirname(path) !== path) makeDirectory(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process has made it in this moment.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !isDirectory(path)) throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
