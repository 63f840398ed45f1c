import { existsSync, lstatSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Git } from "../lib/git.ts";
import { gitDirectories } from "../lib/git-directories.ts";
import type { Change } from "./objects.ts";
import { answered, parts } from "./place.ts";

// A person's checkout, into which a landing writes exactly the paths that differ.

/** A work tree of a person's repository. */
export interface Checkout {
  readonly git: Git;
  readonly worktree: string;
}

/** The commit of a branch of a person's repository; undefined if there is no such branch. */
export async function commitOf(git: Git, root: string, branch: string): Promise<string | undefined> {
  const { yes, text } = await answered(git(root, ["rev-parse", "--quiet", "--verify", branch]));
  return yes ? text : undefined;
}

/** The folder in which a branch is checked out, if there is one. */
export async function worktreeOf(git: Git, root: string, branch: string): Promise<string | undefined> {
  const listed = await git(root, ["worktree", "list", "--porcelain", "-z"]);
  const found = listed.split("\0\0").map((entry) => entry.split("\0"));
  const lines = found.find((entry) => entry.includes(`branch ${branch}`));
  return lines?.find((line) => line.startsWith("worktree "))?.slice("worktree ".length);
}

/** What the person has begun there and not ended: a merge, a rebase, or git at work. */
export function operationIn(worktree: string): string | undefined {
  const { own } = gitDirectories(worktree);
  const marks = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "index.lock"];
  return marks.find((mark) => existsSync(join(own, mark)));
}

/** The paths of these changes that would overwrite something of the person's: changed, hidden from git, or unknown to it. */
export async function pathsInTheWay(checkout: Checkout, changes: readonly Change[]): Promise<string[]> {
  const { worktree } = checkout;
  const ask = (...command: Parameters<Git>[1]) => run(checkout, command);
  const status = parts(await ask("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no"));
  // A lower-case letter: assume-unchanged. S: skip-worktree.
  const flagged = parts(await ask("ls-files", "-v", "-z")).filter((line) => /^[a-zS]/.test(line));
  const isHere = (path: string) => lstatSync(join(worktree, path), { throwIfNoEntry: false }) !== undefined;
  const held = new Set([
    ...status.map((line) => line.slice(3)),
    ...flagged.map((line) => line.slice(2)).filter((path) => isHere(path)),
  ]);
  const others = parts(await ask("ls-files", "-z", "--others", "--directory", "--no-empty-directory"));
  const isTaken = (path: string) =>
    others.some((other) => {
      if (other.endsWith("/") && path.startsWith(other)) return isBlocked(worktree, path);
      return other === path || path.startsWith(`${other}/`) || other.startsWith(`${path}/`);
    });
  return changes.filter(({ path, kind }) => held.has(path) || (kind !== "D" && isTaken(path))).map(({ path }) => path);
}

/** Whether something lies at a path, or a file on the way to it. */
function isBlocked(worktree: string, path: string): boolean {
  const steps = path.split("/");
  for (let depth = 1; depth <= steps.length; depth++) {
    const stat = lstatSync(join(worktree, ...steps.slice(0, depth)), { throwIfNoEntry: false });
    if (stat === undefined) return false;
    if (!stat.isDirectory()) return true;
  }
  return true;
}

/** Writes these paths of a commit into the work tree and its index. It can be repeated. */
export async function writePaths(checkout: Checkout, made: string, changes: readonly Change[]): Promise<void> {
  const named = (wanted: boolean) =>
    changes.filter(({ kind }) => (kind === "D") === wanted).map(({ path }) => `${path}\0`);
  const [gone, kept] = [named(true).join(""), named(false).join("")];
  const listed = ["--pathspec-from-file=-", "--pathspec-file-nul"] as const;
  if (gone !== "") await run(checkout, ["rm", "--force", "--ignore-unmatch", ...listed], { input: gone });
  if (kept !== "") await run(checkout, ["checkout", made, ...listed], { input: kept });
}

/** The paths that are neither as before nor as after a landing, nor cut short by the end of git: somebody has changed them since. */
export async function strangersAmong(
  checkout: Checkout,
  index: string,
  [old, made]: readonly [string, string],
  changes: readonly Change[],
): Promise<string[]> {
  const differing = async (commit: string) => {
    const on = { variables: { GIT_INDEX_FILE: index } };
    // A killed git may have left a lock.
    for (const file of [index, `${index}.lock`]) rmSync(file, { force: true });
    await run(checkout, ["read-tree", commit], on);
    const lines = parts(await run(checkout, ["status", "--porcelain", "-z", "--no-renames", "-uno"], on));
    rmSync(index, { force: true });
    return new Set(lines.flatMap((line) => (line[1] === " " ? [] : [line.slice(3)])));
  };
  const [fromOld, fromMade] = [await differing(old), await differing(made)];
  const isStrange = ({ path, kind }: Change) => {
    const stat = lstatSync(join(checkout.worktree, path), { throwIfNoEntry: false });
    if (stat === undefined || (stat.isFile() && stat.size === 0)) return false;
    return !(kind !== "A" && !fromOld.has(path)) && !(kind !== "D" && !fromMade.has(path));
  };
  return changes.filter(isStrange).map(({ path }) => path);
}

/** Removes the locks that a killed git of ours left: those of a landing, no older than its journal. */
export function removeLocks(root: string, worktree: string | undefined, refs: readonly string[], since: number): void {
  const { common } = gitDirectories(root);
  const ofTree = worktree === undefined ? [] : [gitDirectories(worktree).own];
  const locks = [
    ...ofTree.flatMap((own) => ["index.lock", "HEAD.lock"].map((name) => join(own, name))),
    ...refs.map((ref) => join(common, `${ref}.lock`)),
  ];
  for (const lock of locks)
    if ((statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= since) rmSync(lock, { force: true });
}

function run(
  { git, worktree }: Checkout,
  command: Parameters<Git>[1],
  { input, variables = {} }: { input?: string; variables?: Readonly<Record<`GIT_${string}`, string>> } = {},
): Promise<string> {
  return git(worktree, command, {
    variables: { ...variables, GIT_LITERAL_PATHSPECS: "1" },
    ...(input !== undefined && { input }),
  });
}
