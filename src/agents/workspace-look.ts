import { lstat, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { repositoryRoot } from "../lib/git-directories.ts";
import type { ChangedFile } from "../protocol/record.ts";

/** Of a workspace with more files, or in a repository with more changed ones, nothing is known. */
const MAX_FILES = 20_000;

/** In ms. */
const MAX_GIT_MS = 5_000;

const MAX_PATH = 1_000;

/** Folders of tools, which no worker writes by itself. */
const SKIPPED = new Set([".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"]);

/** A commit without files, for the time before the first one. */
const NO_COMMIT = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** A workspace at one moment. In a repository, only the files that differ from its last commit, and those that an earlier look has. */
export interface Look {
  readonly head?: string;
  /** Size and time of each file; empty for one that is not there. */
  readonly files: ReadonlyMap<string, string>;
  /** The files that are new, as far as an earlier look does not have them. */
  readonly added: ReadonlySet<string>;
}

/** Paths, and whether each is new. */
type Found = ReadonlyMap<string, boolean>;

/** Looks at a workspace, after an earlier look or the first time. Undefined if it is too large, or git cannot tell. */
export async function lookAt(
  workspace: string,
  environment: NodeJS.ProcessEnv,
  ignored: readonly string[],
  earlier?: Look,
): Promise<Look | undefined> {
  try {
    const root = repositoryRoot(workspace);
    const { head, found } =
      root === undefined
        ? { found: await filesBelow(workspace, ignored) }
        : await differing({ workspace, prefix: relative(root, workspace), ignored, environment }, earlier?.head);
    const paths = [...new Set([...found.keys(), ...(earlier?.files.keys() ?? [])])];
    if (paths.length > MAX_FILES) return undefined;
    const states = await Promise.all(paths.map((path) => stateOf(join(workspace, path))));
    const files = new Map(paths.map((path, index) => [path, states[index] ?? ""]));
    const added = new Set(paths.filter((path) => found.get(path) === true));
    return { ...(head !== undefined && { head }), files, added };
  } catch {
    return undefined;
  }
}

/** What changed from one look to the next. */
export function changesBetween(before: Look, { files, added }: Look): ChangedFile[] {
  return [...files].flatMap(([path, now]): ChangedFile[] => {
    const old = before.files.get(path);
    if (now === old) return [];
    const change = now === "" ? "deleted" : old === "" || (old === undefined && added.has(path)) ? "added" : "modified";
    return [{ path: path.slice(0, MAX_PATH).toWellFormed(), change }];
  });
}

async function stateOf(path: string): Promise<string> {
  const stat = await lstat(path).catch(() => undefined);
  if (stat === undefined) return "";
  // The time of a folder, which is a repository of its own, says nothing.
  return stat.isDirectory() ? "folder" : `${stat.size} ${stat.mtimeMs} ${stat.mode}`;
}

interface Repository {
  readonly workspace: string;
  /** The workspace in the repository. */
  readonly prefix: string;
  readonly ignored: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/** The last commit, the files that differ from it, and those in which it differs from an earlier one. */
async function differing(
  { workspace, prefix, ignored, environment }: Repository,
  earlier: string | undefined,
): Promise<{ readonly head: string; readonly found: Found }> {
  const { gitIn } = await import("../lib/git.ts");
  const git = gitIn(environment);
  const places = ["--", ".", ...ignored.map((path) => `:(exclude)${path}`)];
  const limits = { timeout: MAX_GIT_MS };
  const command = ["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--no-renames", "-z"] as const;
  const entries = (await git(workspace, [...command, ...places], limits)).split("\0");
  const found = new Map<string, boolean>();
  let head = NO_COMMIT;
  for (const entry of entries) {
    const [kind = "", state = ""] = entry.split(" ", 2);
    const [, oid] = /^# branch\.oid ([0-9a-f]+)$/.exec(entry) ?? [];
    if (oid !== undefined) head = oid;
    const fields = FIELDS[kind];
    if (fields === undefined) continue;
    const path = relative(prefix, entry.split(" ").slice(fields).join(" "));
    found.set(path, kind === "?" || state.startsWith("A"));
  }
  if (earlier === undefined || earlier === head) return { head, found };
  const compare = ["diff", "--name-status", "--relative", "--no-renames", "-z", earlier, head] as const;
  const committed = (await git(workspace, [...compare, ...places], limits)).split("\0");
  for (let at = 0; at + 1 < committed.length; at += 2) {
    const [letter, path = ""] = committed.slice(at, at + 2);
    if (!found.has(path)) found.set(path, letter === "A");
  }
  return { head, found };
}

/** The number of fields before the path, by the kind of an entry. */
const FIELDS: Readonly<Record<string, number>> = { "1": 8, u: 10, "?": 1 };

async function filesBelow(workspace: string, ignored: readonly string[]): Promise<Found> {
  const found = new Map<string, boolean>();
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined && found.size <= MAX_FILES; folder = folders.pop()) {
    for (const entry of await readdir(join(workspace, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (SKIPPED.has(entry.name) || ignored.includes(path)) continue;
      if (entry.isDirectory()) folders.push(path);
      else found.set(path, true);
    }
  }
  return found;
}
