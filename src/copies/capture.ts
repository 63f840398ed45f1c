import { copyFileSync, lstatSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { isDirectory, makeDirectory, textIn } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { ChangedFile } from "../protocol/record.ts";
import { adopted, submoduleHead } from "./agent-head.ts";
import { type Copy, copyOf, folderOf, indexOf } from "./copy.ts";
import { type Change, changesBetween, commit, holds, moved, objectOf, treeRestoring } from "./objects.ts";
import { answered, NO_COMMIT, own, parts, type Person, type Place, tried, workRef } from "./place.ts";
import { without } from "./repository.ts";

/** What an agent did with a ticket's copy, as a commit under a ref of its own. */
export interface Work {
  readonly commit: string;
  readonly start: string;
  readonly files: readonly ChangedFile[];
}

/** Why a path cannot be taken over, in words that follow it. */
export interface Refused {
  readonly path: string;
  readonly why: string;
}

export type Captured =
  | { readonly state: "captured"; readonly work: Work }
  | { readonly state: "refused"; readonly refused: readonly Refused[] };

export interface Attempt {
  readonly ticket_id: string;
  readonly attempt: number;
  /** Which run of the turn it was, or a word of its own for a person's work. */
  readonly run: number | string;
  /** Who worked. */
  readonly author: Person;
  readonly subject: string;
  readonly at: string;
}

export interface CaptureLimits {
  /** The largest file, in bytes. */
  readonly maxBytes: number;
  /** Globs of git, of paths that this ticket may not change, and paths that it may. */
  readonly protectedPaths: { readonly globs: readonly string[]; readonly except: readonly string[] };
}

/**
 * Commits what is in a ticket's copy, by the session's configuration and our own index: neither the agent's index, configuration and hooks, nor what it
 * committed, where its HEAD is, nor whether there still is a `.git`, hides any of its files. Repeated, it returns the same work. No agent may be alive.
 */
export function capture(place: Place, attempt: Attempt, limits: CaptureLimits): Promise<Fallible<Captured>> {
  const { ticket_id } = attempt;
  const folder = folderOf(place, ticket_id);
  return tried<Captured>(`The work on ${ticket_id} cannot be captured`, folder, async () => {
    const copy = copyOf(place, ticket_id);
    if (copy === undefined || !isDirectory(copy.tree))
      return fails("not_found", `${ticket_id} has no copy of the repository in ${folder}.`, {
        hint: "`bosun resume` makes it anew.",
      });
    const ref = workRef(ticket_id, attempt);
    const kept = await objectOf(place, ref);
    if (kept !== undefined) return ok({ state: "captured", work: await workOf(place, copy, kept) });
    const on = { tree: copy.tree, index: join(folder, "index") };
    rmSync(`${on.index}.lock`, { force: true });
    copyFileSync(indexOf(folder), on.index);
    const before = [...(await wrongFiles(place, copy, on, limits)), ...wrongSubmodules(copy), ...leftMarks(copy)];
    if (before.length > 0) return ok({ state: "refused", refused: before });
    const out = without([...(await notIgnored(place, copy.given, on)), ...copy.submodules.map(([path]) => path)]);
    await own(place, ["add", "--all", "--", ".", ...out], on);
    const tree = await withoutChangesAtOnce(place, copy, on);
    const changes = await changesBetween(place, baseOf(copy), tree);
    const after = [...wrongEntries(copy, changes), ...(await protectedAmong(place, baseOf(copy), tree, limits))];
    if (after.length > 0) return ok({ state: "refused", refused: after });
    const made = await commit(place, {
      tree,
      parents: await parentsOf(place, copy, folder, limits),
      subject: attempt.subject,
      trailers: { "Bosun-Ticket": ticket_id, "Bosun-Attempt": attempt.attempt },
      author: attempt.author,
      at: attempt.at,
    });
    if (!(await moved(place, ref, made, NO_COMMIT)))
      return fails("verification_failed", `${ref} is there already, with other work.`, { hint: "Run `bosun verify`." });
    return ok({ state: "captured", work: await workOf(place, copy, made) });
  });
}

/** What a ticket changes is told against the tip that it merges, if there is one. */
const baseOf = ({ start, merging }: Copy) => merging ?? start;

async function workOf(place: Place, copy: Copy, made: string): Promise<Work> {
  const changes = await changesBetween(place, baseOf(copy), made);
  const files = changes.map(({ path, kind }) => ({ path, change: WORDS[kind] ?? "modified" }));
  return { commit: made, start: copy.start, files };
}

const WORDS: Readonly<Record<string, ChangedFile["change"]>> = { A: "added", D: "deleted" };

type Files = { readonly tree: string; readonly index: string };

/** Git refuses to leave out what it ignores anyway; but an agent may have changed what it ignores. */
async function notIgnored(place: Place, paths: readonly string[], on: Files): Promise<string[]> {
  if (paths.length === 0) return [];
  const input = paths.map((path) => `${path}\0`).join("");
  const ignored = parts((await answered(own(place, ["check-ignore", "-z", "--stdin"], { ...on, input }))).text);
  return paths.filter((path) => !ignored.includes(path));
}

/** Repositories and large files among what is new or changed: before git reads them. */
async function wrongFiles(place: Place, copy: Copy, on: Files, { maxBytes }: CaptureLimits): Promise<Refused[]> {
  const listed = parts(await own(place, ["ls-files", "-z", "--others", "--modified", "--exclude-standard"], on));
  const apart = [...copy.given, ...copy.submodules.map(([path]) => path)];
  const isApart = (path: string) => apart.some((other) => path === other || path.startsWith(`${other}/`));
  return listed.flatMap((path) => {
    if (isApart(path)) return [];
    if (path.endsWith("/")) return [{ path, why: "is a repository of its own, whose files cannot be taken over" }];
    const size = lstatSync(join(copy.tree, path), { throwIfNoEntry: false })?.size ?? 0;
    return size > maxBytes ? [{ path, why: `has ${size} bytes, more than ${maxBytes}` }] : [];
  });
}

/** Submodules that differ from the start. Git silently ignores files inside them. */
function wrongSubmodules({ tree, submodules }: Copy): Refused[] {
  return submodules.flatMap(([path, commit]) => {
    const folder = join(tree, path);
    const stat = lstatSync(folder, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isDirectory()) return [{ path, why: "is a submodule that was removed" }];
    const names = readdirSync(folder);
    if (names.length === 0) return [];
    if (!names.includes(".git")) return [{ path, why: "is a submodule that is not checked out, but holds files" }];
    return submoduleHead(tree, path) === commit ? [] : [{ path, why: "is a submodule with another commit" }];
  });
}

/** Files in which conflict markers are left. */
function leftMarks({ tree, conflicted }: Copy): Refused[] {
  const isMarked = (path: string) => /^<{7} .*^={7}\r?$.*^>{7} /ms.test(textIn(join(tree, path)) ?? "");
  return conflicted.filter(isMarked).map((path) => ({ path, why: "still holds conflict markers" }));
}

/** Writes the tree of the index, in which files that were changed at once and by nobody since are as the start has them. */
async function withoutChangesAtOnce(place: Place, copy: Copy, on: Files): Promise<string> {
  const tree = await own(place, ["write-tree"], on);
  if (copy.changedAtOnce.length === 0) return tree;
  const now = await changesBetween(place, copy.laid, tree);
  const same = ({ path, object }: Change) => now.some((change) => change.path === path && change.object === object);
  const paths = copy.changedAtOnce.filter(same).map(({ path }) => path);
  return paths.length === 0 ? tree : treeRestoring(place, on, copy.laid, paths);
}

function wrongEntries({ tree }: Copy, changes: readonly Change[]): Refused[] {
  return changes.flatMap(({ path, mode }) => {
    if (mode === "160000") return [{ path, why: "is a repository of its own, whose files cannot be taken over" }];
    if (mode !== "120000") return [];
    const leads = readlinkSync(join(tree, path));
    return leadsInside(path, leads) ? [] : [{ path, why: `is a link to ${leads}, outside of the repository` }];
  });
}

/** Whether a link stays in its repository and out of `.git`, whatever other such links it passes: it goes up first, then only down. */
function leadsInside(path: string, leads: string): boolean {
  const goesUpAgain = /(?:^|\/)(?!\.{1,2}(?:\/|$))[^/]+\/(?:.*\/)?\.\.(?:\/|$)/s.test(leads);
  const inside = normalize(join(path, "..", leads));
  return !isAbsolute(leads) && !goesUpAgain && !/^(?:\.\.|\.git)(?:$|\/)/i.test(inside);
}

export const IS_PROTECTED = "is a protected path";

async function protectedAmong(place: Place, start: string, tree: string, limits: CaptureLimits): Promise<Refused[]> {
  const { globs, except } = limits.protectedPaths;
  if (globs.length === 0) return [];
  const paths = [...globs.map((glob) => `:(top,glob)${glob}`), ...without(except)];
  const found = await own(place, ["diff-tree", "-r", "--name-only", "-z", "--no-renames", start, tree, "--", ...paths]);
  return parts(found).map((path) => ({ path, why: IS_PROTECTED }));
}

/** The files that work changes and that no glob names. */
export function outsideOf(
  place: Place,
  start: string,
  work: string,
  globs: readonly string[],
): Promise<Fallible<string[]>> {
  return tried("The changed files cannot be read", place.folder, async () => {
    const others = globs.map((glob) => `:(top,exclude,glob)${glob}`);
    const listed = ["-r", "--name-only", "-z", "--no-renames", start, work, "--", ":(top)", ...others] as const;
    return ok(parts(await own(place, ["diff-tree", ...listed])));
  });
}

/** The agent's own commits, if they can be taken over, else the start; and the tip that a conflict left it to merge. */
async function parentsOf(place: Place, copy: Copy, folder: string, { maxBytes }: CaptureLimits): Promise<string[]> {
  const scratch = join(folder, "scratch");
  rmSync(scratch, { recursive: true, force: true });
  makeDirectory(scratch);
  const first = await adopted(place, { ...copy, scratch, maxBytes });
  return copy.merging === undefined || (await holds(place, first, copy.merging)) ? [first] : [first, copy.merging];
}
