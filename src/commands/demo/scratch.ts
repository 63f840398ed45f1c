import { constants, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { copyFile, lstat, mkdir, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Git } from "./git.ts";
import type { Source } from "./source.ts";

/** A folder of the demo's own, and what is in it. */
export interface Scratch {
  readonly folder: string;
  /** The work tree that the crew works in. */
  readonly work: string;
  /** A configuration folder without anything in it: the person's own crews and settings have no part in the demo. */
  readonly configuration: string;
  /** Where its programs put temporary files. */
  readonly temporary: string;
}

/** Where no repository says what belongs together, more than this is taken for a mistake, such as the whole of a home directory. */
const MOST_FILES = 20_000;
const MOST_BYTES = 500_000_000;

/** What no copy needs: others' packages, and git's own files, of which the copy gets its own. */
const LEFT_OUT: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** Makes the demo's folder, empty. */
export function makeScratch({ directory }: Source): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "bosun-demo-"));
  const name = basename(directory).replace(/\.git$/, "") || "repository";
  const scratch = {
    folder,
    work: join(folder, "work", name),
    configuration: join(folder, "configuration"),
    temporary: join(folder, "temporary"),
  };
  for (const own of [scratch.configuration, scratch.temporary]) mkdirSync(own);
  return scratch;
}

/** Takes it away with all that is in it. */
export function removeScratch({ folder }: Scratch): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Puts the source's last commit into the work tree and says which it is; null where there is none, and its files are copied as they
 * are, without `home` and what git ignores. Failures: `environment` with what git says, `usage` for a folder that is too large to be copied, `interrupted`.
 */
export async function fillScratch(
  git: Git,
  source: Source,
  scratch: Scratch,
  home: string,
  signal: AbortSignal,
): Promise<Result<string | null, Failure>> {
  const filled = !source.committed
    ? await copy(git, source, scratch, home, signal).catch((error: Error) =>
        err(cannot("copy", source.directory, error.message)),
      )
    : await clone(git, source, scratch, signal);
  return signal.aborted ? err(failure("interrupted", "The demo was interrupted.")) : filled;
}

async function clone(
  git: Git,
  { directory }: Source,
  { folder, work }: Scratch,
  signal: AbortSignal,
): Promise<Result<string | null, Failure>> {
  // No hard links: nothing that is done to the clone may reach the original's files. No template: it may bring hooks.
  const options = ["--quiet", "--local", "--no-hardlinks", "--single-branch", "--no-tags", "--template="];
  const cloned = await git(
    folder,
    ["-c", "protocol.file.allow=always", "clone", ...options, "--", directory, work],
    signal,
  );
  if (!cloned.ok) return err(cannot("clone", directory, cloned.complaint));
  await git(work, ["remote", "remove", "origin"]);
  const head = await git(work, ["rev-parse", "--verify", "HEAD"]);
  return head.ok ? ok(head.text) : err(cannot("clone", directory, head.complaint));
}

async function copy(
  git: Git,
  { directory }: Source,
  { work }: Scratch,
  home: string,
  signal: AbortSignal,
): Promise<Result<string | null, Failure>> {
  const files = await filesOf(git, directory, home, signal);
  if (!files.ok) return files;
  for (const path of files.value) {
    if (signal.aborted) break;
    await mkdir(join(work, path, ".."), { recursive: true });
    await copyFile(join(directory, path), join(work, path), constants.COPYFILE_FICLONE);
  }
  await mkdir(work, { recursive: true });
  for (const args of [
    ["init", "--quiet", "--template="],
    ["add", "--all"],
  ]) {
    const done = await git(work, args, signal);
    if (!done.ok) return err(cannot("copy", directory, done.complaint));
  }
  return ok(null);
}

/** The ordinary files of a folder, relative to it: where git knows them those that it does not ignore, else all. */
async function filesOf(
  git: Git,
  directory: string,
  home: string,
  signal: AbortSignal,
): Promise<Result<string[], Failure>> {
  const isLeftOut = (path: string) => LEFT_OUT.has(basename(path)) || isOfHome(home, join(directory, path));
  const files: string[] = [];
  let bytes = 0;
  for await (const path of (await knownToGit(git, directory, signal)) ?? filesBelow(directory, isLeftOut)) {
    if (signal.aborted) break;
    if (upwards(path).some(isLeftOut)) continue;
    // What git knows may have been taken away since.
    const about = await lstat(join(directory, path)).catch(() => undefined);
    if (about?.isFile() !== true) continue;
    files.push(path);
    bytes += about.size;
    if (files.length > MOST_FILES || bytes > MOST_BYTES) {
      return err(
        failure("usage", `${directory} has no commit to clone, and is too large to be copied for a demo.`, {
          hint: "Name one of your repositories: bosun demo DIR",
        }),
      );
    }
  }
  return ok(files);
}

/**
 * What git knows of a folder and does not ignore; undefined where that is nothing, as outside of a repository and in a folder that one ignores
 * as a whole. Nor does git refuse it for belonging to somebody else,
 * as an installation may: it only tells names, and starts nothing that the repository's configuration names.
 */
async function knownToGit(git: Git, directory: string, signal: AbortSignal): Promise<Set<string> | undefined> {
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { ok: isKnown, text } = await git(directory, ["-c", "safe.directory=*", ...listing], signal);
  const paths = isKnown ? text.split("\0").filter((path) => path !== "") : [];
  return paths.length === 0 ? undefined : new Set(paths);
}

async function* filesBelow(directory: string, isLeftOut: (path: string) => boolean): AsyncGenerator<string> {
  const open = [""];
  for (let below = open.pop(); below !== undefined; below = open.pop()) {
    for (const entry of await readdir(join(directory, below), { withFileTypes: true })) {
      const path = join(below, entry.name);
      if (entry.isDirectory() && !isLeftOut(path)) open.push(path);
      if (entry.isFile()) yield path;
    }
  }
}

/** A path and those of the folders that it lies in. */
function upwards(path: string): string[] {
  return path === "." ? [] : [path, ...upwards(dirname(path))];
}

function isOfHome(home: string, path: string): boolean {
  return (
    path === home ||
    ["bosun.db", "bosun.db-wal", "bosun.db-shm", "logs", "sessions", "worktrees"].some(
      (name) => path === join(home, name),
    )
  );
}

function cannot(what: "clone" | "copy", directory: string, complaint: string): Failure {
  return failure("environment", `Cannot ${what} ${directory}: ${complaint.trim()}`, {
    hint: "Try another repository: bosun demo DIR",
  });
}

/** A copy of a log folder in the scratch folder, to be tampered with. */
export function copyLog(log: string, { folder }: Scratch): string {
  const copied = join(folder, "log");
  cpSync(log, copied, { recursive: true });
  return copied;
}
