import { lstat, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Git, gitIn } from "../../lib/git.ts";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";

/** Larger files hold data and are not read. */
const MAX_READ_BYTES = 1024 * 1024;
/** Why a tracked file may not be read. Of a name that is not UTF-8, git's output keeps too little to find the file. */
export const UNREAD = "missing, binary, above 1 MiB, or with a name that is not UTF-8";
const GIT_TIMEOUT_MS = 60_000;
const READS_AT_ONCE = 32;

/** A git work tree. */
export interface Repository {
  readonly root: string;
  /** The checked-out commit; undefined before the first one. */
  readonly head: string | undefined;
  readonly shallow: boolean;
  /** The tracked regular files, by path from the root. */
  readonly files: readonly string[];
  readonly isTracked: (path: string) => boolean;
  /** The text of a tracked file; undefined if it is `UNREAD`. */
  readonly read: (path: string) => Promise<string | undefined>;
  /** Whether the work tree has the path, tracked or not. */
  readonly exists: (path: string) => Promise<boolean>;
  readonly git: (args: Parameters<Git>[1], input?: string) => Promise<string>;
  /** Runs `git grep`; empty when nothing matches. */
  readonly grep: (args: readonly string[]) => Promise<string>;
}

/** Opens the work tree around `directory`; fails with a sentence if there is none. */
export async function openRepository(directory: string): Promise<Result<Repository, string>> {
  const git = gitIn(process.env);
  let root: string;
  try {
    root = await git(directory, ["rev-parse", "--show-toplevel"]);
  } catch (error) {
    return err(`${directory} is not in a git work tree: ${(error as Error).message}`);
  }
  const inRoot = (args: Parameters<Git>[1], input = "") => git(root, args, { input, timeout: GIT_TIMEOUT_MS });
  const [head, shallow, listing] = await Promise.all([
    inRoot(["rev-parse", "--verify", "--quiet", "HEAD"]).catch(() => undefined),
    inRoot(["rev-parse", "--is-shallow-repository"]),
    inRoot(["ls-files", "--stage", "-z"]),
  ]);
  const entries = listing.split("\0");
  // Modes 100644 and 100755 are regular files; the others are links and submodules.
  const files = entries.flatMap((entry) => /^100(?:644|755) [0-9a-f]+ \d\t([\s\S]+)$/.exec(entry)?.[1] ?? []);
  const tracked = new Set(entries.map((entry) => entry.slice(entry.indexOf("\t") + 1)));
  return ok({
    root,
    head,
    shallow: shallow === "true",
    // A file in a merge conflict has several entries.
    files: [...new Set(files)],
    isTracked: (path) => tracked.has(path),
    read: (path) => readSource(join(root, path)),
    exists: async (path) => (await lstat(join(root, path)).catch(() => undefined)) !== undefined,
    git: inRoot,
    grep: (args) =>
      inRoot(["grep", ...args]).catch((error: Error) => {
        // The exit code of a search without matches.
        if ((error.cause as { exitCode?: unknown }).exitCode === 1) return "";
        throw error;
      }),
  });
}

async function readSource(path: string): Promise<string | undefined> {
  try {
    const about = await stat(path);
    if (!about.isFile() || about.size > MAX_READ_BYTES) return undefined;
    const bytes = await readFile(path);
    return bytes.subarray(0, 8000).includes(0) ? undefined : bytes.toString("utf8");
  } catch {
    return undefined;
  }
}

/** A JSON file as a value and as text. */
export interface JsonFile {
  readonly path: string;
  readonly text: string;
  readonly value: JsonObject;
  /** Why the text is not JSON; the value is then empty. */
  readonly broken?: string;
}

/** Reads a JSON file of any size; undefined if it does not exist. */
export async function readJson({ root }: Repository, path: string): Promise<JsonFile | undefined> {
  const bytes = await readFile(join(root, path), "utf8").catch(() => undefined);
  if (bytes === undefined) return undefined;
  const text = bytes.replace(/^\uFEFF/, "");
  try {
    return { path, text, value: objectOf(JSON.parse(text) as Json) };
  } catch (error) {
    return { path, text, value: {}, broken: (error as Error).message };
  }
}

/** The line number, from 1, of the first `wanted` at or after the offset `from`; undefined if there is none. */
export function lineAt(text: string, wanted: string, from = 0): number | undefined {
  const index = text.indexOf(wanted, from);
  return index < 0 ? undefined : text.slice(0, index).split("\n").length;
}

/** Processes all items, at most `atOnce` at a time, and keeps their order. */
export async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = READS_AT_ONCE,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
