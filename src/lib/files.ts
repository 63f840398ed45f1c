import { readFileSync, realpathSync, statSync } from "node:fs";

// What a path leads to, where it does not matter why that cannot be found out.

/** The path without symbolic links; the path itself if it cannot be followed. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The text of a file; undefined if it cannot be read. A pipe or device that an agent put in its place is not read, for it need not end. */
export function textIn(file: string): string | undefined {
  try {
    return statSync(file).isFile() ? readFileSync(file, "utf8") : undefined;
  } catch {
    return undefined;
  }
}

/** The lines of a file that are not empty; none if it cannot be read. */
export function linesIn(file: string): string[] {
  return (textIn(file) ?? "").split("\n").filter((line) => line !== "");
}

/** Whether a path is a directory, following links; false if it cannot be examined, such as one that is too long. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
