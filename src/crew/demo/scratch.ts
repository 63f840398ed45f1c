import { constants, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { copyFile, lstat, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
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
 * Clones the source's last commit and gives its id. Without a commit it copies the files, except those that git ignores
 * and those of the `home`, and gives null. Fails with `environment` and what git says, or with `usage` if there is too
 * much to copy.
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
  await mkdir(work, { recursive: true });
  await git(work, ["init", "--quiet", "--template="], { signal });
  const files = await filesIn(directory, join(work, ".git"), home, signal);
  if (files === undefined) {
    const hint = "Name one of your repositories: bosun demo DIR";
    return err(failure("usage", `${directory} has no commit to clone, and is too large to copy.`, { hint }));
  }
  for (const path of files) {
    if (signal.aborted) break;
    await mkdir(dirname(join(work, path)), { recursive: true });
    await copyFile(join(directory, path), join(work, path), constants.COPYFILE_FICLONE);
  }
  await git(work, ["add", "--all"], { signal });
  return ok(null);
}

/**
 * The regular files of a folder that its `.gitignore` files leave, relative to it; undefined if there are too many. The
 * copy's repository lists them, so a repository around the folder, or one of another user, does not matter.
 */
async function filesIn(
  directory: string,
  repository: string,
  home: string,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const ofTheHome = ["", ...FILES_OF_A_HOME]
    .map((name) => relative(directory, join(home, name)))
    .filter((path) => path !== "" && !path.startsWith(".."));
  const listing = ["ls-files", "-z", "--others", "--exclude-standard", "--", ".", ":(exclude,glob)**/node_modules/**"];
  const leftOut = ofTheHome.map((path) => `:(exclude,literal)${path}`);
  const asWorkTree = ["--git-dir", repository, "--work-tree", directory];
  const listed = await git(directory, [...asWorkTree, ...listing, ...leftOut], { signal });
  const files: string[] = [];
  let bytes = 0;
  for (const path of listed.split("\0")) {
    const about = path === "" ? undefined : await lstat(join(directory, path)).catch(() => undefined);
    // Links and nested repositories are left out.
    if (about?.isFile() !== true) continue;
    files.push(path);
    bytes += about.size;
    if (files.length > MOST_FILES || bytes > MOST_BYTES) return undefined;
  }
  return files;
}
