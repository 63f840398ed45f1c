import { accessSync, constants, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { isDirectory } from "./files.ts";

/**
 * Makes a directory of Bosun's own and its missing parents, unless it exists: nobody else may enter it, whatever the umask. Throws the system's error;
 * Node's own `recursive` reports ENOENT for a read-only or broken disk, whatever the system's error is.
 */
export function makeDirectory(path: string): void {
  if (isDirectory(path)) return;
  if (dirname(path) !== path) makeDirectory(dirname(path));
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !isDirectory(path)) throw error;
  }
}

/** Whether this user can enter a directory. `refused` if it exists but may not be entered. */
export function mayEnter(path: string): "yes" | "refused" | "gone" {
  try {
    accessSync(`${path}/.`, constants.X_OK);
    return "yes";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "refused" : "gone";
  }
}
