import { createHash } from "node:crypto";
import { appendFileSync, existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { closeToOthers, isDirectory, makeDirectory, OWN, ownLines, realPath, replaceOwn } from "../lib/files.ts";
import { gitDirectories, repositoryRoot } from "../lib/git-directories.ts";
import { shellWord } from "../lib/shell-word.ts";
import { baseDirectory, type Environment, pathsIn } from "./found.ts";

/**
 * Returns the absolute path of the directory with the database, the logs and the sessions, which may not exist yet: `--home`, else `BOSUN_HOME`, else
 * the nearest directory from here up with a `bosun.db`, else `$XDG_STATE_HOME/bosun/<repository id>`. A home that is found must belong to the user
 * and have been named before (`rememberHome`), because resuming its sessions runs their commands. Failures: `usage` for an empty path,
 * `configuration` for a path that cannot be a home, `trust` for a home of another user or one never named.
 */
export function resolveHome(flag: string | undefined, environment: Environment, directory: string): Fallible<string> {
  if (flag !== undefined) return namedHome("--home", flag, directory);
  const variable = environment.BOSUN_HOME;
  if (variable !== undefined && variable !== "") return namedHome("BOSUN_HOME", variable, directory);
  for (let here = resolve(directory); ; here = dirname(here)) {
    if (existsSync(join(here, DATABASE))) return foundHome(here, environment);
    if (here === dirname(here)) break;
  }
  return ok(stateHome(environment, directory));
}

/** The home of a directory's repository in the user's state folder. */
export function stateHome(environment: Environment, directory: string): string {
  return join(stateFolder(environment), repositoryId(directory));
}

/**
 * Names the repository of a directory, the same in all its worktrees: the repository's name and a hash of the real path of its common git directory;
 * outside a repository, those of the directory itself. Git need not be installed.
 */
export function repositoryId(directory: string): string {
  const root = repositoryRoot(directory);
  const common = root === undefined ? realPath(resolve(directory)) : gitDirectories(root).common;
  const named = basename(common) === ".git" ? dirname(common) : common;
  const name = basename(named)
    .replace(/\.git$/, "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .slice(0, 40)
    .replace(/^[-.]+/, "");
  const digest = createHash("sha256").update(common).digest("hex").slice(0, 10);
  return `${name === "" ? "root" : name}-${digest}`;
}

function namedHome(name: string, path: string, directory: string): Fallible<string> {
  const home = resolve(directory, path);
  if (path.trim() === "") {
    return fails("usage", `${name} is empty.`, { hint: `Give a directory: ${name} DIRECTORY` });
  }
  if (existsSync(home) && !isDirectory(home)) {
    return fails("configuration", `${name} ${path}: this is a file, and the home must be a directory.`, {
      hint: "Name a directory; a missing one is created.",
    });
  }
  return ok(home);
}

function foundHome(directory: string, environment: Environment): Fallible<string> {
  const owner = statSync(join(directory, DATABASE), { throwIfNoEntry: false })?.uid;
  const me = process.getuid?.();
  const another = owner !== undefined && me !== undefined && owner !== me;
  if (!another && isKnownHome(environment, directory)) return ok(directory);
  const why = another
    ? `belongs to another user (${owner})`
    : "was never named by you: it may have come with a repository";
  return fails("trust", `The home found in ${directory} ${why}, and its sessions can run commands.`, {
    hint: `Name it once if you mean it: --home ${shellWord(directory)}. If not, choose another home, or delete its ${DATABASE}.`,
  });
}

/** The file that makes a directory a home. */
const DATABASE = "bosun.db";

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
