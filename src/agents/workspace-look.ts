import { lstat, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { repositoryRoot } from "../lib/git-directories.ts";
import type { ChangedFile } from "../protocol/record.ts";
import type { Agent } from "../kernel/agent.ts";
import { listedChanges } from "../kernel/changes.ts";
import { permissionsOf } from "../protocol/roles.ts";

/** Tells at the end of each turn that may write which files of its workspace changed meanwhile, except in the `ignored` places. */
export function tellingChanges(environment: NodeJS.ProcessEnv, ignored: readonly string[]): (agent: Agent) => Agent {
  const running = new Set<{ readonly workspace: string; readonly subject: string; readonly beside: Set<string> }>();
  return (agent) => ({
    turn: async (request, context) => {
      const { workspace } = request.payload;
      const look = (earlier?: Look) => lookAt(workspace, environment, ignored, earlier);
      const before = permissionsOf(request.role).write === "none" ? undefined : await look();
      if (before === undefined) return agent.turn(request, context);
      const own = { workspace, subject: request.stamp.subject ?? request.role.role_id, beside: new Set<string>() };
      for (const other of running) {
        if (other.workspace !== workspace || other.subject === own.subject) continue;
        other.beside.add(own.subject);
        own.beside.add(other.subject);
      }
      running.add(own);
      const result = await agent.turn(request, context);
      const now = await look(before);
      running.delete(own);
      const changes = now === undefined ? [] : changesBetween(before, now);
      return changes.length === 0 ? result : { ...result, changed_files: listedChanges(changes, own.beside) };
    },
  });
}

/** Of a workspace with more files, or in a repository with more changed ones, nothing is known. */
const MAX_FILES = 20_000;

/** Nothing is known either if git takes longer, in ms. */
const MAX_GIT_MS = 2_000;

const MAX_PATH = 1_000;

/** Folders of tools. */
const SKIPPED = new Set([".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"]);

/** The tree without files, in place of the last commit before there is one. */
const NO_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** The number of fields before the path in git's status, by the kind of an entry. */
const FIELDS: Readonly<Record<string, number>> = { "1": 8, u: 10, "?": 1 };

/** Files, and whether each is new. */
type Found = ReadonlyMap<string, boolean>;

/** A workspace at one moment. In a repository, only the files that differ from its last commit, and those that an earlier look has. */
interface Look {
  /** The last commit. */
  readonly head?: string;
  readonly found: Found;
  /** Size and time of each file; empty for one that is not there. */
  readonly files: ReadonlyMap<string, string>;
}

/** Looks at a workspace, after an earlier look or the first time. Undefined if it is too large, or cannot be read. */
async function lookAt(
  workspace: string,
  environment: NodeJS.ProcessEnv,
  ignored: readonly string[],
  earlier?: Look,
): Promise<Look | undefined> {
  const inside = ignored.map((path) => relative(workspace, path)).filter((path) => !/^(?:\.\.(?:\/|$)|$)/.test(path));
  try {
    const seen =
      repositoryRoot(workspace) === undefined
        ? { found: await filesBelow(workspace, inside) }
        : await differing(workspace, environment, inside, earlier?.head);
    const paths = [...new Set([...seen.found.keys(), ...(earlier?.files.keys() ?? [])])];
    if (paths.length > MAX_FILES) return undefined;
    const states = await Promise.all(paths.map(async (path) => [path, await stateOf(join(workspace, path))] as const));
    return { ...seen, files: new Map(states) };
  } catch {
    return undefined;
  }
}

/** What changed from one look to the next. */
function changesBetween(before: Look, { files, found }: Look): ChangedFile[] {
  return [...files].flatMap(([path, now]): ChangedFile[] => {
    const old = before.files.get(path) ?? (found.get(path) === true ? "" : undefined);
    if (now === old) return [];
    const change = now === "" ? "deleted" : old === "" ? "added" : "modified";
    return [{ path: path.slice(0, MAX_PATH).toWellFormed(), change }];
  });
}

async function stateOf(path: string): Promise<string> {
  const stat = await lstat(path).catch(() => undefined);
  // The time of a folder, which is a repository of its own, says nothing.
  return stat === undefined ? "" : stat.isDirectory() ? "folder" : `${stat.size} ${stat.mtimeMs} ${stat.mode}`;
}

/** The last commit, the files that differ from it, and those in which it differs from an earlier one. */
async function differing(
  workspace: string,
  environment: NodeJS.ProcessEnv,
  ignored: readonly string[],
  earlier: string | undefined,
): Promise<{ readonly head: string; readonly found: Found }> {
  const { gitIn } = await import("../lib/git.ts");
  const places = ["--", ".", ...ignored.map((path) => `:(exclude)${path}`)];
  const run = async (command: "status" | "diff", ...words: readonly string[]) => {
    const whole = [command, "--no-renames", "-z", ...words, ...places] as const;
    return (await gitIn(environment)(workspace, whole, { timeout: MAX_GIT_MS })).split("\0");
  };
  const found = new Map<string, boolean>();
  const prefix = relative(repositoryRoot(workspace) ?? workspace, workspace);
  let head = NO_TREE;
  for (const entry of await run("status", "--porcelain=v2", "--branch", "--untracked-files=all")) {
    const [kind = "", state = "", ...rest] = entry.split(" ");
    if (state === "branch.oid" && rest[0] !== "(initial)") head = rest[0] ?? head;
    const path = [state, ...rest].slice((FIELDS[kind] ?? 1) - 1).join(" ");
    if (kind in FIELDS) found.set(relative(prefix, path), kind === "?" || state.startsWith("A"));
  }
  const committed =
    earlier === undefined || earlier === head ? [] : await run("diff", "--name-status", "--relative", earlier, head);
  for (const [at, path] of committed.entries())
    if (at % 2 === 1 && !found.has(path)) found.set(path, committed[at - 1] === "A");
  return { head, found };
}

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
