import { constants, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { copyFile, lstat, mkdir, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { git } from "../git.ts";
import type { Source } from "./source.ts";

/** The demo's temporary folder. */
export interface Scratch {
  readonly folder: string;
  /** The copy that the crew works on. */
  readonly work: string;
  /** An empty configuration folder: the user's crews and settings play no part in the demo. */
  readonly configuration: string;
  /** `TMPDIR` of everything that the demo starts. */
  readonly temporary: string;
}

/** A folder without git that holds more than this is probably not what the user meant: a home directory, for instance. */
const MOST_FILES = 20_000;
const MOST_BYTES = 500_000_000;

const LEFT_OUT: ReadonlySet<string> = new Set([".git", "node_modules"]);
const FILES_OF_A_HOME = ["bosun.db", "bosun.db-wal", "bosun.db-shm", "logs", "sessions", "worktrees"];

/** Makes the temporary folder. */
export function makeScratch({ directory }: Source): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "bosun-demo-"));
  const name = basename(directory).replace(/\.git$/, "") || "repository";
  const scratch = {
    folder,
    work: join(folder, "work", name),
    configuration: join(folder, "configuration"),
    temporary: join(folder, "temporary"),
  };
  mkdirSync(scratch.configuration);
  mkdirSync(scratch.temporary);
  return scratch;
}

export function removeScratch({ folder }: Scratch): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Clones the source's last commit and gives its id. Without a commit it copies the files, except those that git ignores and those of the `home`,
 * and gives null. Fails with `environment` and what git says, or with `usage` if there is too much to copy.
 */
export async function fillScratch(
  source: Source,
  scratch: Scratch,
  home: string,
  signal: AbortSignal,
): Promise<Result<string | null, Failure>> {
  try {
    return source.committed ? ok(await clone(source, scratch, signal)) : await copy(source, scratch, home, signal);
  } catch (error) {
    const what = `Cannot ${source.committed ? "clone" : "copy"} ${source.directory}: ${(error as Error).message}`;
    return err(failure("environment", what, { hint: "Try another repository: bosun demo DIR" }));
  }
}

async function clone({ directory }: Source, { folder, work }: Scratch, signal: AbortSignal): Promise<string> {
  // A hard link would let a change to the clone reach the original, and a template may bring hooks.
  const options = ["--quiet", "--local", "--no-hardlinks", "--single-branch", "--no-tags", "--template="];
  await git(folder, ["-c", "protocol.file.allow=always", "clone", ...options, "--", directory, work], { signal });
  await git(work, ["remote", "remove", "origin"]);
  return git(work, ["rev-parse", "--verify", "HEAD"]);
}

async function copy(
  { directory }: Source,
  { work }: Scratch,
  home: string,
  signal: AbortSignal,
): Promise<Result<null, Failure>> {
  const files = await filesOf(directory, home, signal);
  if (files === undefined) {
    const hint = "Name one of your repositories: bosun demo DIR";
    return err(failure("usage", `${directory} has no commit to clone, and is too large to copy.`, { hint }));
  }
  await mkdir(work, { recursive: true });
  for (const path of files) {
    if (signal.aborted) break;
    await mkdir(dirname(join(work, path)), { recursive: true });
    await copyFile(join(directory, path), join(work, path), constants.COPYFILE_FICLONE);
  }
  await git(work, ["init", "--quiet", "--template="], { signal });
  await git(work, ["add", "--all"], { signal });
  return ok(null);
}

/** The regular files of a folder, relative to it; undefined if there are too many. Links are not followed. */
async function filesOf(directory: string, home: string, signal: AbortSignal): Promise<string[] | undefined> {
  const ofTheHome = new Set([home, ...FILES_OF_A_HOME.map((name) => join(home, name))]);
  const isLeftOut = (path: string) => LEFT_OUT.has(basename(path)) || ofTheHome.has(join(directory, path));
  const files: string[] = [];
  let bytes = 0;
  for await (const path of (await filesInGit(directory, signal)) ?? filesBelow(directory, isLeftOut)) {
    if (signal.aborted) break;
    if (withItsFolders(path).some(isLeftOut)) continue;
    // A file that git lists may be deleted.
    const about = await lstat(join(directory, path)).catch(() => undefined);
    if (about?.isFile() !== true) continue;
    files.push(path);
    bytes += about.size;
    if (files.length > MOST_FILES || bytes > MOST_BYTES) return undefined;
  }
  return files;
}

/**
 * The files that git lists and does not ignore; undefined if there are none, as outside of a repository or in a folder that one ignores. Listing
 * names is safe in a repository of another user (`safe.directory`): it starts nothing that the repository configures.
 */
async function filesInGit(directory: string, signal: AbortSignal): Promise<string[] | undefined> {
  const listing = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listed = await git(directory, listing, { signal }).catch(() => "");
  const paths = [...new Set(listed.split("\0"))].filter((path) => path !== "");
  return paths.length === 0 ? undefined : paths;
}

async function* filesBelow(directory: string, isLeftOut: (path: string) => boolean): AsyncGenerator<string> {
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(join(directory, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !isLeftOut(path)) folders.push(path);
      if (entry.isFile()) yield path;
    }
  }
}

function withItsFolders(path: string): string[] {
  return path === "." ? [] : [path, ...withItsFolders(dirname(path))];
}
