import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** The nearest folder from here up that contains a file. Sources and bundle are at different depths. */
export function folderWith(file: string): string {
  for (let directory = import.meta.dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, file))) return directory;
    if (directory === dirname(directory)) {
      throw new Error(`The installation is incomplete: there is no ${file} above ${import.meta.dirname}.`);
    }
  }
}

/** The absolute path of a shipped file or folder, such as `schemas/` or `config/crews/`. */
export function shipped(...segments: string[]): string {
  return join(folderWith(join("schemas", "roles.schema.json")), ...segments);
}

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

/**
 * The lines, without empty ones, of a file that holds decisions of this user. None if it cannot be read, if it is a link, which may lead to the file
 * of a cloned repository, or if others can change it.
 */
export function ownLines(file: string): string[] {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const text = changedByOthers(fstatSync(descriptor)) === undefined ? readFileSync(descriptor, "utf8") : "";
    return text.split("\n").filter((line) => line !== "");
  } catch {
    return [];
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
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

/** Whether a path is a directory, following links; false if it cannot be examined, such as one that is too long. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The mode of every file that Bosun keeps, for the calls that make it: nobody else may read or write it, whatever the umask. */
export const OWN = { mode: 0o600 };

/** Puts a new file of these lines in the place of a file of Bosun's own, whoever may write to the old one. */
export function replaceOwn(path: string, lines: readonly string[]): void {
  const partial = `${path}.${process.pid}.tmp`;
  rmSync(partial, { force: true });
  writeFileSync(partial, [...lines, ""].join("\n"), { flag: "wx", ...OWN });
  renameSync(partial, path);
}

/** Makes an empty file of Bosun's own for a library that would make it for all. An existing file is not opened: closing it would drop its locks. */
export function createOwn(path: string): void {
  try {
    closeSync(openSync(path, "wx", OWN.mode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Takes from others what they may do with these files and folders of this user; returns those that were open to them. Links are left. */
export function closeToOthers(paths: readonly string[]): string[] {
  return paths.filter((path) => {
    try {
      const stat = lstatSync(path);
      if (stat.isSymbolicLink() || (stat.mode & 0o077) === 0 || stat.uid !== process.getuid?.()) return false;
      chmodSync(path, stat.mode & 0o700);
      return true;
    } catch {
      // It does not exist, or its file system has no modes.
      return false;
    }
  });
}

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
