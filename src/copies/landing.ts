import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import { isDirectory, makeDirectory, OWN, textIn } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { operationIn, pathsInTheWay, removeLocks, strangersAmong, worktreeOf, writePaths } from "./checkout.ts";
import {
  answered,
  BASE,
  changesIn,
  commit,
  nameOf,
  NO_COMMIT,
  objectOf,
  own,
  repositoryOf,
  SESSION,
  signingOf,
  tried,
} from "./place.ts";
import type { Person, Place } from "./place.ts";
import { mergeTrees } from "./queue.ts";

// The only writes in a person's repository: a branch moves to a commit, and its checkout with it.

/** A move of a person's branch, planned or done. */
export interface Landing {
  readonly root: string;
  readonly isTrusted: boolean;
  readonly branch: string;
  /** Where the branch is before; empty if it is made. */
  readonly old: string;
  /** What the checkout holds before. */
  readonly from: string;
  readonly made: string;
  /** The landing that it takes back. */
  readonly undoes?: string;
}

export type Planned =
  | { readonly state: "planned"; readonly landing: Landing }
  | {
      readonly state: "refused";
      readonly why: string;
      readonly paths: readonly string[];
      /** To what a person switches to resolve a conflict, if not to the branch of the start. */
      readonly on?: readonly string[];
    };

export type Landed = { readonly state: "landed" } | Extract<Planned, { state: "refused" }>;

interface Aim {
  readonly root: string;
  readonly isTrusted: boolean;
  /** The full name of the branch. */
  readonly branch: string;
  readonly subject: string;
  readonly at: string;
  readonly author?: Person;
}

const OLD = "refs/bosun/landing/old";
const MADE = "refs/bosun/landing/made";
const journalOf = ({ folder }: Pick<Place, "folder">) => join(folder, "landing.json");
const landedOf = ({ folder }: Pick<Place, "folder">) => join(folder, "landed.json");

/** What of the session is in branches of the person's now, oldest first; undefined if nothing ever was. */
export function landings(place: Pick<Place, "folder">): readonly Landing[] | undefined {
  const text = textIn(landedOf(place));
  return text === undefined ? undefined : (JSON.parse(text) as Landing[]);
}

/** The landing in whose middle the program was killed, if there is one. */
export function cutLanding(place: Place): Landing | undefined {
  const text = textIn(journalOf(place));
  return text === undefined ? undefined : (JSON.parse(text) as Landing);
}

/**
 * Makes the commit that brings the session's branch into a person's, in the session's repository, where it can be checked. With another branch as `base`,
 * the person's begins there, and goes on from where it is with what the base has become; the commit is the `old` one if nothing is new.
 */
export function planMerge(
  place: Place,
  aim: Aim,
  { squash = false, sign = false, base = aim.branch } = {},
): Promise<Fallible<Planned>> {
  return tried<Planned>(`${aim.branch} cannot be prepared`, aim.root, async () => {
    for (const branch of [base, aim.branch])
      if (!(await answered(place.git(aim.root, ["check-ref-format", branch]))).yes || !branch.startsWith("refs/heads/"))
        return fails("usage", `${branch} cannot be a branch.`, { hint: "Name a branch with --into" });
    const old = await fetched(place, aim.root, aim.branch);
    const isApart = base !== aim.branch;
    const ground = isApart ? await fetched(place, aim.root, base) : (old ?? (await objectOf(place, BASE)));
    if (isApart && ground === undefined)
      return fails("usage", `${aim.root} has no branch ${base}.`, { hint: "Name one that is there with --into" });
    const tip = await objectOf(place, SESSION);
    if (ground === undefined || tip === undefined) return noSession(place);
    if ((await joined(place, ground, tip)) === undefined) return holdsAll(place, base);
    const conflicting = (paths: readonly string[]): Planned => {
      const names = (old === undefined ? ["-c", aim.branch, base] : [aim.branch]).map((name) =>
        name.replace("refs/heads/", ""),
      );
      return { state: "refused", why: "the branch has moved, and conflicts", paths, ...(isApart && { on: names }) };
    };
    let onto = ground;
    if (isApart && old !== undefined) {
      const { root, isTrusted, branch, at } = aim;
      if ((await joined(place, old, tip)) === undefined)
        return isUndone(place)
          ? holdsAll(place, branch)
          : ok({ state: "planned", landing: { root, isTrusted, branch, old, from: old, made: old } });
      const forward = await joined(place, old, ground);
      if (forward !== undefined && "entries" in forward) return ok(conflicting(forward.files));
      const content = { tree: forward?.tree ?? "", parents: [old, ground], subject: `Merge ${base}`, trailers: {}, at };
      onto = forward === undefined ? old : await commit(place, content);
    }
    const result = await joined(place, onto, tip);
    if (result === undefined) return holdsAll(place, aim.branch);
    if ("entries" in result) return ok(conflicting(result.files));
    const parents = squash ? [onto] : [onto, tip];
    const signing = sign ? await signingOf(place, aim.root) : undefined;
    const plan = { tree: result.tree, parents, old: old ?? NO_COMMIT, from: old ?? ground, trailers: {} };
    return ok(await planned(place, aim, plan, signing));
  });
}

/** The tree of a commit with another, or their conflict; undefined if it holds all of that already. */
async function joined(
  place: Place,
  at: string,
  other: string,
): Promise<Awaited<ReturnType<typeof mergeTrees>> | undefined> {
  if ((await answered(own(place, ["merge-base", "--is-ancestor", other, at]))).yes) return undefined;
  const result = await mergeTrees(place, at, other);
  const isSame = !("entries" in result) && result.tree === (await objectOf(place, `${at}^{tree}`));
  return isSame ? undefined : result;
}

/** Makes the commit that takes a landing back on top of what came later. */
export function planUndo(place: Place, aim: Aim, landing: Landing): Promise<Fallible<Planned>> {
  return tried<Planned>(`${aim.branch} cannot be prepared`, aim.root, async () => {
    const now = await fetched(place, aim.root, aim.branch);
    const range = `${landing.made}..${now}`;
    if (now === undefined || !(await answered(own(place, ["merge-base", "--is-ancestor", landing.made, now]))).yes)
      return fails("usage", `${aim.branch} does not hold ${landing.made}, so there is nothing to undo.`, {
        hint: "`git log` shows where it went.",
      });
    const trailer = "--format=%(trailers:key=Bosun-Undo,valueonly,separator=)";
    if ((await own(place, ["log", trailer, range])).split("\n").includes(landing.made))
      return fails("usage", `${landing.made} is undone already.`, { hint: "`git log` shows the commit that did." });
    const { subject, at } = aim;
    const back = await commit(place, {
      // A branch that was brought up to its base for the landing stays so.
      tree: `${landing.made}^1^{tree}`,
      parents: [landing.made],
      subject,
      trailers: {},
      at,
    });
    const result = await mergeTrees(place, now, back);
    if ("entries" in result)
      return ok({ state: "refused", why: "later commits changed the same", paths: result.files });
    const trailers = { "Bosun-Undo": landing.made };
    const plan = { tree: result.tree, parents: [now], old: now, from: now, trailers, undoes: landing.made };
    return ok(await planned(place, aim, plan));
  });
}

const isUndone = (place: Place) => landings(place)?.length === 0;

function holdsAll(place: Place, branch: string) {
  return fails("usage", `${branch} already holds what ${place.session_id} made.`, {
    hint: isUndone(place)
      ? "`git revert` of the commit that took it back brings it again."
      : `bosun diff ${place.session_id}`,
  });
}

function noSession(place: Place) {
  return fails("not_found", `${repositoryOf(place)} does not hold a session.`, { hint: "Was it discarded?" });
}

/** The commit of the person's branch, brought into the session's repository; undefined if there is no such branch. */
async function fetched(place: Place, root: string, branch: string): Promise<string | undefined> {
  const { yes, text } = await answered(place.git(root, ["rev-parse", "--quiet", "--verify", branch]));
  if (!yes) return undefined;
  const repository = repositoryOf(place);
  await place.git(repository, ["fetch", "--", root, `+${branch}:${OLD}`], { repository });
  return text;
}

interface Plan extends Pick<Landing, "old" | "from" | "undoes"> {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly trailers: Readonly<Record<string, string>>;
}

async function planned(
  place: Place,
  aim: Aim,
  { old, from, undoes, ...content }: Plan,
  signing?: Awaited<ReturnType<typeof signingOf>>,
): Promise<Planned> {
  const { root, isTrusted, branch, subject, at, author } = aim;
  const made = await commit(place, { ...content, subject, at, ...(author !== undefined && { author }) }, signing);
  await own(place, ["update-ref", MADE, made]);
  return {
    state: "planned",
    landing: { root, isTrusted, branch, old, from, made, ...(undoes !== undefined && { undoes }) },
  };
}

/** Moves the person's branch, and writes exactly what differs into its checkout, if there is one and nothing of the person's is in the way. */
export function land(place: Place, landing: Landing): Promise<Fallible<Landed>> {
  const { root, branch, old } = landing;
  return tried<Landed>(`${branch} cannot be moved`, root, async () => {
    if (existsSync(journalOf(place)))
      return fails("busy", `An earlier merge of ${place.session_id} into a branch is not ended.`, {
        hint: "`bosun resume` ends it.",
      });
    const worktree = await worktreeOf(place.git, root, branch);
    const now = await answered(place.git(root, ["rev-parse", "--quiet", "--verify", branch]));
    if ((now.yes ? now.text : NO_COMMIT) !== old)
      return ok({ state: "refused", why: "the branch has moved", paths: [] });
    if (worktree !== undefined) {
      const operation = operationIn(worktree);
      if (operation !== undefined)
        return ok({ state: "refused", why: `${worktree} is in the middle of something`, paths: [operation] });
      const paths = await pathsInTheWay({ ...landing, git: place.git, worktree }, await changesOf(place, landing));
      if (paths.length > 0) return ok({ state: "refused", why: `${worktree} has changes of its own`, paths });
    }
    writeWhole(place, journalOf(place), landing);
    await move(place, landing, worktree);
    return ok({ state: "landed" });
  });
}

/** Ends a landing in whose middle the program was killed; undefined if there is none. No git process of it may be alive. */
export function recoverLanding(place: Place): Promise<Fallible<Landing | undefined>> {
  const journal = journalOf(place);
  return tried<Landing | undefined>("A landing cannot be ended", journal, async () => {
    const landing = cutLanding(place);
    if (landing === undefined) return ok(undefined);
    const { root, branch, old, from, made } = landing;
    const worktree = await worktreeOf(place.git, root, branch);
    removeLocks(root, worktree, [branch, refAt(place)], statSync(journal).mtimeMs);
    const now = await answered(place.git(root, ["rev-parse", "--quiet", "--verify", branch]));
    if (now.yes && now.text === made) {
      end(place, landing);
      return ok(landing);
    }
    if ((now.yes ? now.text : NO_COMMIT) !== old)
      return fails("conflict", `${branch} in ${root} has moved while ${place.session_id} was being merged into it.`, {
        hint: `Compare your files with ${made}; when they are as you want them, remove ${journal}.`,
      });
    if (worktree !== undefined) {
      await fetchMade(place, landing);
      const checkout = { ...landing, git: place.git, worktree };
      const index = join(place.folder, "index.landing");
      const strange = await strangersAmong(checkout, index, [from, made], await changesOf(place, landing));
      if (strange.length > 0)
        return fails(
          "conflict",
          `In ${worktree}, these files are neither as before nor as merged: ${strange.join(", ")}.`,
          {
            hint: "Put your own changes aside and `git checkout` these files, then try again.",
          },
        );
    }
    await move(place, landing, worktree);
    return ok(landing);
  });
}

async function changesOf(place: Place, { from, made }: Landing) {
  return changesIn(await own(place, ["diff-tree", "-r", "--raw", "-z", "--no-renames", from, made]));
}

const refAt = ({ session_id }: Place) => `refs/bosun/${nameOf(session_id)}`;

async function fetchMade(place: Place, { root }: Landing): Promise<void> {
  await place.git(root, ["fetch", "--", repositoryOf(place), `+${MADE}:${refAt(place)}`]);
}

async function move(place: Place, landing: Landing, worktree: string | undefined): Promise<void> {
  const { root, branch, old, made } = landing;
  await fetchMade(place, landing);
  if (worktree !== undefined)
    await writePaths({ ...landing, git: place.git, worktree }, made, await changesOf(place, landing));
  const { name, email } = place.committer;
  const variables = { GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
  await place.git(root, ["update-ref", "-m", `bosun: ${place.session_id}`, branch, made, old], { variables });
  end(place, landing);
}

/** What landed is known before the journal goes, so that it can always be taken back. */
function end(place: Place, landing: Landing): void {
  const others = (landings(place) ?? []).filter(({ made }) => made !== landing.made && made !== landing.undoes);
  writeWhole(place, landedOf(place), landing.undoes === undefined ? [...others, landing] : others);
  rmSync(journalOf(place));
}

/** Replaces a file, and returns once it is on disk: the journal, before the first file of the person's changes. */
function writeWhole(place: Place, path: string, value: unknown): void {
  const partial = `${path}.new`;
  rmSync(partial, { force: true });
  const file = openSync(partial, "wx", OWN.mode);
  writeSync(file, JSON.stringify(value));
  fsyncSync(file);
  closeSync(file);
  renameSync(partial, path);
  const folder = openSync(place.folder, "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** Moves what a session made into the trash, or back from there. The person's repository is not looked at. It can be repeated. */
export function moveSession(from: string, to: string): Promise<Fallible<true>> {
  return tried("The session's copies cannot be moved", from, async () => {
    if (!isDirectory(from))
      return existsSync(to)
        ? ok(true)
        : fails("not_found", `${from} is not there.`, { hint: `Look for ${basename(from)} in the trash.` });
    makeDirectory(join(to, ".."));
    renameSync(from, to);
    return ok(true);
  });
}
