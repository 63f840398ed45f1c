import { lstatSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { type Git, gitIn } from "../../lib/git.ts";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";

/** Larger files hold data and are not read. */
const MAX_READ_BYTES = 1024 * 1024;
/** Why a tracked file may not be read. Of a name that is not UTF-8, git's output keeps too little to find the file. */
export const UNREAD = "missing, binary, above 1 MiB, or with a name that is not UTF-8";
const GIT_TIMEOUT_MS = 60_000;

/** A git work tree. */
export type Repository = Awaited<ReturnType<typeof openRepository>>;

/** Opens the work tree around `directory`. Throws if there is none. */
export async function openRepository(directory: string) {
  const git = gitIn(process.env);
  const root = await git(directory, ["rev-parse", "--show-toplevel"]).catch((error: Error) => {
    throw new Error(`${directory} is not in a git work tree: ${error.message}`, { cause: error });
  });
  const inRoot = (args: Parameters<Git>[1]) => git(root, args, { timeout: GIT_TIMEOUT_MS });
  const [head, shallow, listing] = await Promise.all([
    inRoot(["rev-parse", "--verify", "--quiet", "HEAD"]).catch(() => undefined),
    inRoot(["rev-parse", "--is-shallow-repository"]),
    inRoot(["ls-files", "--stage", "-z"]),
  ]);
  const entries = listing.split("\0");
  // Modes 100644 and 100755 are regular files; the others are links and submodules.
  const files = entries.flatMap((entry) => /^100(?:644|755) [0-9a-f]+ \d\t([\s\S]+)$/.exec(entry)?.[1] ?? []);
  const tracked = new Set(["."]);
  for (const entry of entries) {
    const path = entry.slice(entry.indexOf("\t") + 1);
    for (let part = path; !tracked.has(part); part = posix.dirname(part)) tracked.add(part);
  }
  return {
    root,
    /** The checked-out commit; undefined before the first one. */
    head,
    shallow: shallow === "true",
    /** The tracked regular files, by path from the root. A file in a merge conflict has several entries. */
    files: [...new Set(files)],
    /** Whether git has a file, link, submodule or folder of this path. */
    isTracked: (path: string) => tracked.has(path),
    /** The text of a tracked file; undefined if it is `UNREAD`. */
    read: (path: string) =>
      unlessFailed(() => {
        const about = statSync(join(root, path));
        if (!about.isFile() || about.size > MAX_READ_BYTES) return undefined;
        const bytes = readFileSync(join(root, path));
        return bytes.subarray(0, 8000).includes(0) ? undefined : bytes.toString("utf8");
      }),
    /** The text of a file of any size; undefined if it cannot be read. */
    readWhole: (path: string) => unlessFailed(() => readFileSync(join(root, path), "utf8")),
    /** Whether the work tree has the path, tracked or not. */
    exists: (path: string) => unlessFailed(() => lstatSync(join(root, path))) !== undefined,
    git: inRoot,
  };
}

/** What `read` returns; undefined if it throws. */
export function unlessFailed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Reads a JSON file of any size, as a value and as text; undefined if there is none. If it is not JSON, `broken` says why, and the value is empty. */
export function readJson(repository: Repository, path: string) {
  const text = repository.readWhole(path)?.replace(/^\uFEFF/, "");
  if (text === undefined) return undefined;
  try {
    return { path, text, value: objectOf(JSON.parse(text) as Json) };
  } catch (error) {
    return { path, text, value: {} as JsonObject, broken: (error as Error).message };
  }
}

/** The line number, from 1, of the first `wanted` at or after the offset `from`; undefined if there is none. */
export function lineAt(text: string, wanted: string, from = 0): number | undefined {
  const index = text.indexOf(wanted, from);
  return index < 0 ? undefined : text.slice(0, index).split("\n").length;
}
