import { copyFileSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDirectory, makeDirectory, OWN, replaceOwn, textIn } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { give, givenOf } from "./given.ts";
import { type Change, changesBetween, putEntries } from "./objects.ts";
import { nameOf, own, parts, type Place, repositoryOf, tried } from "./place.ts";
import { linksIn } from "./preflight.ts";
import { ticketFile, without } from "./repository.ts";

/** A ticket's copy of the repository, as it was before an agent came. */
export interface Copy {
  readonly tree: string;
  /** The commit that is checked out. */
  readonly start: string;
  /** What was laid out: the start, or after a conflict a tree with its marks. */
  readonly laid: string;
  /** The tip that is being merged into it after a conflict, and the files that hold marks. */
  readonly merging?: string;
  readonly conflicted: readonly string[];
  /** What was given beside the commit, and is never committed. */
  readonly given: readonly string[];
  readonly submodules: readonly (readonly [path: string, commit: string])[];
  /** Files that git finds changed right after the checkout, such as those with other line ends than `.gitattributes` says. */
  readonly changedAtOnce: readonly Change[];
}

/** A merge that is left to the agent: the tree with the conflict's marks, and the lines that `update-index` takes for it. */
export interface Unmerged {
  readonly tip: string;
  readonly tree: string;
  readonly entries: readonly string[];
  readonly files: readonly string[];
}

/** The id of the tree in which merges and the base are checked. No ticket has it. */
export const CHECK_TREE = ".check";

/** The folders of the copies, and of the tree in which merges are checked. */
export const copiesIn = ({ folder }: Place) => join(folder, "trees");
export const folderOf = (place: Place, ticket_id: string) => join(copiesIn(place), nameOf(ticket_id));
export const indexOf = (folder: string) => join(folder, "index0");
const markOf = (folder: string) => join(folder, "ready.json");

/** A ticket's copy, if it is ready: an agent may have been in it. */
export function copyOf(place: Place, ticket_id: string): Copy | undefined {
  return readyIn(folderOf(place, ticket_id));
}

/** The copy in a folder, if it is ready. */
export function readyIn(folder: string): Copy | undefined {
  const text = textIn(markOf(folder));
  return text === undefined ? undefined : (JSON.parse(text) as Copy);
}

/** Makes a ticket's copy from a commit. One that is ready stays as it is; one that is not is made anew. */
export function makeCopy(place: Place, ticket_id: string, start: string): Promise<Fallible<Copy>> {
  const folder = folderOf(place, ticket_id);
  return tried(`The copy of ${ticket_id} cannot be made`, folder, async () => {
    const ready = copyOf(place, ticket_id);
    if (ready !== undefined) return ok(ready);
    dropFolder(folder);
    return ok(await lay(place, folder, start));
  });
}

/**
 * Puts a ticket's copy back to the work that was captured, with the session's tip merged into it if there is a conflict. The agent's own `.git` goes, so
 * that git reads nothing that the agent wrote there; ignored files stay. No agent may be alive in it.
 */
export function nextAttempt(
  place: Place,
  ticket_id: string,
  work: string,
  conflict?: Unmerged,
): Promise<Fallible<Copy>> {
  const folder = folderOf(place, ticket_id);
  return tried(`The copy of ${ticket_id} cannot be prepared`, folder, async () => {
    const ready = readyIn(folder);
    if (ready?.start === work && ready.merging === conflict?.tip) return ok(ready);
    if (ready === undefined) dropFolder(folder);
    return ok(await lay(place, folder, work, conflict));
  });
}

/** Puts the files of a ticket's copy back to the work that was captured from it last; ignored files stay. No agent may be alive in it. */
export function restore(place: Place, ticket_id: string, work: string): Promise<Fallible<Copy>> {
  const folder = folderOf(place, ticket_id);
  return tried(`The copy of ${ticket_id} cannot be put back`, folder, async () => {
    const copy = readyIn(folder);
    const index = join(folder, "index");
    if (copy === undefined || !isDirectory(copy.tree) || !existsSync(index)) {
      dropFolder(folder);
      return ok(await lay(place, folder, work));
    }
    rmSync(`${index}.lock`, { force: true });
    await own(place, ["read-tree", "--reset", "-u", work], { tree: copy.tree, index });
    await removeOthers(place, copy, index);
    return ok(copy);
  });
}

/** Removes the files that git neither knows nor ignores, but what was given. */
export async function removeOthers(place: Place, { tree, given, submodules }: Copy, index: string): Promise<void> {
  const kept = [...given, ...submodules.map(([path]) => path)];
  const isKept = (path: string) => kept.some((other) => path === other || path.startsWith(`${other}/`));
  const left = parts(await own(place, ["ls-files", "-z", "--others", "--exclude-standard"], { tree, index }));
  for (const path of left) if (!isKept(path)) rmSync(join(tree, path), { recursive: true, force: true });
}

/** Removes a ticket's copy. Its work must be under a ref, and no agent alive in it. */
export function dropCopy(place: Place, ticket_id: string): Promise<Fallible<true>> {
  const folder = folderOf(place, ticket_id);
  return tried(`The copy of ${ticket_id} cannot be removed`, folder, async () => {
    dropFolder(folder);
    return ok(true);
  });
}

export function dropFolder(folder: string): void {
  // Without the mark first, a half removed copy would count as ready.
  rmSync(markOf(folder), { force: true });
  rmSync(folder, { recursive: true, force: true });
}

/** Checks a commit out in a folder's `tree` and gives it a `.git` of its own, whatever is there. The mark comes last. */
export async function lay(place: Place, folder: string, start: string, conflict?: Unmerged): Promise<Copy> {
  const [tree, index] = [join(folder, "tree"), indexOf(folder)];
  rmSync(markOf(folder), { force: true });
  rmSync(`${index}.lock`, { force: true });
  if (!isDirectory(tree) || lstatSync(tree).isSymbolicLink()) {
    rmSync(tree, { recursive: true, force: true });
    rmSync(index, { force: true });
    makeDirectory(folder);
    // With the umask of the person, for agents that run as another user.
    mkdirSync(tree);
  }
  rmSync(join(tree, ".git"), { recursive: true, force: true });
  const on = { tree, index };
  const laid = conflict?.tree ?? start;
  await own(place, ["read-tree", "--reset", "-u", laid], on);
  const listed = await own(place, ["ls-tree", "-r", "-z", laid]);
  const copy: Copy = {
    tree,
    start,
    laid,
    ...(conflict !== undefined && { merging: conflict.tip }),
    conflicted: conflict?.files ?? [],
    given: [...(givenOf(place)?.files ?? []), ...(givenOf(place)?.folders ?? [])],
    submodules: linksIn(listed),
    changedAtOnce: await changesAtOnce(place, folder, laid, listed),
  };
  await give(place, tree);
  await makeGit(place, copy, index, conflict);
  replaceOwn(markOf(folder), [JSON.stringify(copy)]);
  return copy;
}

async function changesAtOnce(place: Place, folder: string, laid: string, listed: string): Promise<Change[]> {
  const isConverted =
    /(?:\t|\/)\.gitattributes\0/.test(listed) || /autocrlf/.test(textIn(ticketFile(place, "config")) ?? "");
  if (!isConverted) return [];
  const index = join(folder, "index.scratch");
  copyFileSync(indexOf(folder), index);
  // Git compares the content of each file that is younger than the index.
  utimesSync(index, 1, 1);
  const on = { tree: join(folder, "tree"), index };
  await own(place, ["add", "--update", "--", ".", ...without(linksIn(listed).map(([path]) => path))], on);
  const after = await own(place, ["write-tree"], on);
  return changesBetween(place, laid, after);
}

/** Makes the `.git` of a copy, which borrows the session's objects: git that works there reads and writes nothing of anyone else's. */
async function makeGit(place: Place, { tree, start }: Copy, index: string, conflict: Unmerged | undefined) {
  const repository = repositoryOf(place);
  // Sandboxes and agents look at `.git`: it comes whole.
  const unready = join(dirname(tree), "dot.git");
  rmSync(unready, { recursive: true, force: true });
  for (const inner of ["objects/info", "objects/pack", "refs/heads", "info"]) makeDirectory(join(unready, inner));
  const write = (name: string, text: string) => writeFileSync(join(unready, name), text, OWN);
  write("HEAD", `${start}\n`);
  write("objects/info/alternates", `${join(repository, "objects")}\n`);
  for (const name of ["config", "packed-refs"] as const) copyFileSync(ticketFile(place, name), join(unready, name));
  for (const name of ["exclude", "attributes"]) {
    const source = join(repository, "info", name);
    if (existsSync(source)) copyFileSync(source, join(unready, "info", name));
  }
  copyFileSync(index, join(unready, "index"));
  if (conflict !== undefined) {
    await putEntries(place, { tree, index: join(unready, "index") }, conflict.entries);
    write("MERGE_HEAD", `${conflict.tip}\n`);
    write("MERGE_MODE", "no-ff");
    write(
      "MERGE_MSG",
      `Merge what others have done\n\n# Conflicts:\n${conflict.files.map((file) => `#\t${file}\n`).join("")}`,
    );
  }
  renameSync(unready, join(tree, ".git"));
}
