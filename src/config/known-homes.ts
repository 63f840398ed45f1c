import { appendFileSync, existsSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { closeToOthers, makeDirectory, OWN, ownLines, realPath, replaceOwn } from "../lib/files.ts";
import { baseDirectory, pathsIn, type Environment } from "./found.ts";

/** The file that makes a directory a home. */
export const DATABASE = "bosun.db";

/** From this many lines on, those of missing homes are removed. */
const MANY = 500;

/**
 * Whether this user has named the home before, with the database that is in it now. A home that was never named may have come with
 * a repository, and resuming its sessions would run a stranger's commands.
 */
export function isKnownHome(environment: Environment, directory: string): boolean {
  const line = lineOf(directory);
  return line !== undefined && ownLines(fileOf(environment)).includes(line);
}

/** Remembers that this user named the home. If that cannot be written, the home must be named again. */
export function rememberHome(environment: Environment, directory: string): void {
  const file = fileOf(environment);
  const line = lineOf(directory);
  const lines = ownLines(file);
  if (line === undefined || lines.includes(line)) return;
  try {
    makeDirectory(stateFolder(environment));
    // Another process may add a line at the same time.
    if (lines.length < MANY && (lines.length > 0 || !existsSync(file))) appendFileSync(file, `${line}\n`, OWN);
    else replaceOwn(file, [...lines.filter((one) => homeIn(one) !== undefined), line]);
  } catch {
    // Naming a home must not fail because it cannot be remembered.
  }
}

/** The homes of this user that still exist, by real path, most recently used first: those named before, and those of repositories. */
export function knownHomes(environment: Environment): string[] {
  const named = ownLines(fileOf(environment)).flatMap((line) => homeIn(line) ?? []);
  const repositories = pathsIn(realPath(stateFolder(environment)));
  const homes = new Set([...named, ...(repositories.ok ? repositories.value : [])]);
  const used = [...homes].map((home) => ({ home, at: lastUsed(home) })).filter(({ at }) => at > 0);
  return used.toSorted((one, other) => other.at - one.at).map(({ home }) => home);
}

/** When a home was last written to, in ms; 0 without a database. SQLite writes its write-ahead log long before the database. */
function lastUsed(home: string): number {
  try {
    const { mtimeMs } = statSync(join(home, DATABASE));
    return Math.max(mtimeMs, statSync(join(home, `${DATABASE}-wal`), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  } catch {
    return 0;
  }
}

/** The folder with this user's homes and the list of named ones. */
export function stateFolder(environment: Environment): string {
  return join(baseDirectory(environment, "XDG_STATE_HOME", join(".local", "state")), "bosun");
}

/** What Bosun keeps in a home. */
const KEPT = new RegExp(`^(?:${DATABASE}(?:[-.].*)?|logs|sessions)$`);

/**
 * Closes to other users what an older version, or a loose umask, left open: the state folder and a home. Returns those paths. In a folder that holds
 * more than a home, such as a repository, only what Bosun keeps is closed.
 */
export function closeHome(environment: Environment, home: string): string[] {
  const found = pathsIn(home);
  const paths = found.ok ? found.value : [];
  const kept = paths.filter((path) => KEPT.test(basename(path)));
  const whole = kept.includes(join(home, DATABASE)) && kept.length === paths.length ? [home] : [];
  return closeToOthers([stateFolder(environment), ...whole, ...kept]);
}

function fileOf(environment: Environment): string {
  return join(stateFolder(environment), "homes");
}

/**
 * The line of a home: its path, and the inode number and birth time of its database, so that another database in its place does not
 * count as named. The inode number is not enough, since file systems reuse it (ext4 at once); only the system sets the birth time.
 * Where files have no birth time (some FUSE) no home is known.
 */
function lineOf(directory: string): string | undefined {
  try {
    const { ino, birthtimeNs } = statSync(join(directory, DATABASE), { bigint: true });
    return birthtimeNs === 0n ? undefined : `${ino}-${birthtimeNs} ${JSON.stringify(realpathSync(directory))}`;
  } catch {
    return undefined;
  }
}

/** The home in a line; undefined if that home, with its database, is gone. */
function homeIn(line: string): string | undefined {
  try {
    const home = JSON.parse(line.slice(line.indexOf(" ") + 1)) as string;
    return lineOf(home) === line ? home : undefined;
  } catch {
    return undefined;
  }
}
