import { appendFileSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { baseDirectory, type Environment } from "./found.ts";

/** What a home is known by. */
export const DATABASE = "bosun.db";

/** More lines than this are cleared of homes that are gone. */
const MANY = 500;

/**
 * Whether this person has named the home before, with the database that is in it now. One that is found and was never named may have
 * come with a repository, and resuming its sessions would run a stranger's commands.
 */
export function isKnownHome(environment: Environment, directory: string): boolean {
  const line = lineOf(directory);
  return line !== undefined && linesIn(fileOf(environment)).includes(line);
}

/** Keeps in mind that this person named the home. Where that cannot be written, it must be named again. */
export function rememberHome(environment: Environment, directory: string): void {
  const file = fileOf(environment);
  const line = lineOf(directory);
  const lines = linesIn(file);
  if (line === undefined || lines.includes(line)) return;
  try {
    mkdirSync(dirname(file), { recursive: true });
    if (lines.length < MANY) appendFileSync(file, `${line}\n`);
    else writeFileSync(file, [...lines.filter(isThere), line, ""].join("\n"));
  } catch {
    // A courtesy: naming a home never fails for this.
  }
}

function fileOf(environment: Environment): string {
  return join(baseDirectory(environment, "XDG_STATE_HOME", join(".local", "state")), "bosun", "homes");
}

/**
 * The line of a home: its path, and the number and time of birth of its database's file, so that another database in its place is
 * not the one that was named. The number alone would not do, since file systems give it to the next file (ext4 at once); but only
 * the system sets the time of birth. Where files have no time of birth (some FUSE) no home is known.
 */
function lineOf(directory: string): string | undefined {
  try {
    const { ino, birthtimeNs } = statSync(join(directory, DATABASE), { bigint: true });
    return birthtimeNs === 0n ? undefined : `${ino}-${birthtimeNs} ${JSON.stringify(realpathSync(directory))}`;
  } catch {
    return undefined;
  }
}

function isThere(line: string): boolean {
  try {
    return lineOf(JSON.parse(line.slice(line.indexOf(" ") + 1)) as string) === line;
  } catch {
    return false;
  }
}

function linesIn(file: string): string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}
