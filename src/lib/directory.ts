import { accessSync, constants, mkdirSync, statSync } from "node:fs";
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

/** Whether a program of this user could be started in a directory: `refused` if it is there and may not be entered. */
export function mayEnter(path: string): "yes" | "refused" | "gone" {
  try {
    accessSync(`${path}/.`, constants.X_OK);
    return "yes";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "refused" : "gone";
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
