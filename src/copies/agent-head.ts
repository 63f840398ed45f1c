import { lstatSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDirectory } from "../lib/files.ts";
import { holds } from "./objects.ts";
import { own, parts, type Place } from "./place.ts";

// What an agent committed by itself is read from its `.git` without a git that works there: its configuration is the agent's.

const COMMIT = /^[0-9a-f]{40,64}$/;

/** The commit of the HEAD of a repository in a folder, from its files; undefined if that cannot be said. */
function headOf(folder: string): string | undefined {
  const repository = join(folder, ".git");
  if (!isPlain(repository) || !isDirectory(repository)) return undefined;
  const head = plainText(repository, "HEAD");
  const ref = /^ref: (refs\/[^\0]+)$/.exec(head ?? "")?.[1];
  if (ref === undefined) return head !== undefined && COMMIT.test(head) ? head : undefined;
  if (ref.split("/").includes("..")) return undefined;
  const packed = plainText(repository, "packed-refs")?.split("\n") ?? [];
  const found =
    plainText(repository, ref) ?? packed.find((line) => line.slice(line.indexOf(" ") + 1) === ref)?.split(" ")[0];
  return found !== undefined && COMMIT.test(found) ? found : undefined;
}

/** The commit of a submodule that is checked out, whose `.git` is a folder or a file that names one inside the copy; undefined if unknown. */
export function submoduleHead(tree: string, path: string): string | undefined {
  const direct = headOf(join(tree, path));
  if (direct !== undefined) return direct;
  const folder = join(tree, ".git", "modules", path);
  const head = isDirectory(folder) ? plainText(folder, "HEAD") : undefined;
  return head !== undefined && COMMIT.test(head) ? head : undefined;
}

/** The text of a regular file, to which no link leads. */
function plainText(folder: string, name: string): string | undefined {
  const above = name.split("/").map((_, at, all) => join(folder, ...all.slice(0, at + 1)));
  if (!above.every(isPlain)) return undefined;
  const file = join(folder, name);
  return lstatSync(file).isFile() && lstatSync(file).size < 64 * 1024 * 1024
    ? readFileSync(file, "utf8").trim()
    : undefined;
}

function isPlain(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isSymbolicLink();
}

/** From where an agent's commits may come, and what they may not hold. */
interface Limits {
  readonly start: string;
  readonly tree: string;
  /** A folder for what is being copied. */
  readonly scratch: string;
  readonly given: readonly string[];
  readonly maxBytes: number;
}

/**
 * Takes an agent's commits into the session's repository, if they go on from the start, and returns the last; else the start, and then the files alone
 * are the work. Each object is hashed anew: an agent can write a false one.
 */
export async function adopted(place: Place, { start, tree, scratch, given, maxBytes }: Limits): Promise<string> {
  const head = headOf(tree);
  if (head === undefined || head === start) return start;
  const variables = { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(tree, ".git", "objects")) };
  const base = join(scratch, "pack");
  try {
    if (!(await holds(place, head, start, variables))) return start;
    const listed = ["--format=", "-m", "--raw", "-z", "--no-renames", `${start}..${head}`] as const;
    const words = parts(await own(place, ["log", ...listed], { variables }));
    const isOut = (word: string) =>
      / 160000 /.test(word) || given.some((path) => word === path || word.startsWith(`${path}/`));
    if (words.some(isOut)) return start;
    const range = `${head}\n^${start}\n`;
    const pack = await own(place, ["pack-objects", "--revs", base], { variables, input: range });
    const file = `${base}-${pack}.pack`;
    if (statSync(file).size > maxBytes) return start;
    await own(place, ["index-pack", "--stdin", "--fix-thin"], { input: { file } });
    return (await holds(place, head, start)) ? head : start;
  } catch (error) {
    // The agent's repository is broken, or not what it seems.
    if (error instanceof Error && error.message.startsWith("git ")) return start;
    throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
