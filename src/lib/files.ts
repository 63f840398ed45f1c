import { readFileSync, realpathSync, type Stats, statSync } from "node:fs";

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

/**
 * Why others than this user and root can change a file or folder with this owner and mode; undefined if they cannot. A group of this user alone, which
 * has the same number, may write: many systems make files so.
 */
export function changedByOthers(
  { uid, gid, mode }: Pick<Stats, "uid" | "gid" | "mode">,
  [me, group] = [process.getuid?.(), process.getgid?.()],
): string | undefined {
  if (me === undefined) return undefined;
  if (uid !== me && uid !== 0) return `belongs to another user (${uid})`;
  if ((mode & 0o002) !== 0) return "can be changed by every user";
  return (mode & 0o020) === 0 || (gid === group && gid === uid) ? undefined : `can be changed by its group (${gid})`;
}

/** The lines of a file that are not empty; none if others can change it, or it cannot be read. */
export function ownLinesIn(file: string): string[] {
  try {
    return changedByOthers(statSync(file)) === undefined ? linesIn(file) : [];
  } catch {
    return [];
  }
}

/** Whether a path is a directory, following links; false if it cannot be examined, such as one that is too long. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
