import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import { isDirectory, makeDirectory, OWN, textIn } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import {
  commitOf,
  operationIn,
  pathsInTheWay,
  removeLocks,
  strangersAmong,
  worktreeOf,
  writePaths,
} from "./checkout.ts";
import { changesBetween } from "./objects.ts";
import { nameOf, NO_COMMIT, type Place, repositoryOf, tried } from "./place.ts";

// The only writes in a person's repository: a branch moves to a commit, and its checkout with it.

/** A move of a person's branch, planned or done. */
export interface Landing {
  readonly root: string;
  readonly branch: string;
  /** Where the branch is before; empty if it is made. */
  readonly old: string;
  /** What the checkout holds before. */
  readonly from: string;
  readonly made: string;
  /** The landing that it takes back. */
  readonly undoes?: string;
}

export interface Refused {
  readonly state: "refused";
  readonly cause: "conflict" | "later_changes" | "moved" | "not_clean";
  readonly why: string;
  readonly paths: readonly string[];
}

export type Landed = { readonly state: "landed" } | Refused;

/** The commit that is planned, in the session's repository. */
export const MADE = "refs/bosun/landing/made";
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

function refused(why: string, paths: readonly string[]): Fallible<Landed> {
  return ok({ state: "refused", cause: "not_clean", why, paths });
}

/** Moves the person's branch, and writes exactly what differs into its checkout, if there is one and nothing of the person's is in the way. */
export function land(place: Place, landing: Landing): Promise<Fallible<Landed>> {
  const { root, branch, old } = landing;
  return tried<Landed>(`${branch} cannot be moved`, root, async () => {
    if (existsSync(journalOf(place)))
      return fails("busy", `An earlier merge of ${place.session_id} into a branch was interrupted.`, {
        hint: "`bosun resume` ends it.",
      });
    const worktree = await worktreeOf(place.git, root, branch);
    if (((await commitOf(place.git, root, branch)) ?? NO_COMMIT) !== old)
      return ok({ state: "refused", cause: "moved", why: "the branch has just moved", paths: [] });
    if (worktree !== undefined) {
      const operation = operationIn(worktree);
      if (operation !== undefined)
        return refused(`a merge, rebase or other git command is under way in ${worktree}`, [operation]);
      const changes = await changesBetween(place, landing.from, landing.made);
      const paths = await pathsInTheWay({ git: place.git, worktree }, changes);
      if (paths.length > 0) return refused(`${worktree} has changes of its own`, paths);
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
    const now = await commitOf(place.git, root, branch);
    if (now === made) {
      end(place, landing);
      return ok(landing);
    }
    if ((now ?? NO_COMMIT) !== old)
      return fails("conflict", `${branch} in ${root} has moved while ${place.session_id} was being merged into it.`, {
        hint: `Compare your files with ${made}; when they are as you want them, remove ${journal}.`,
      });
    if (worktree !== undefined) {
      await fetchMade(place, landing);
      const checkout = { git: place.git, worktree };
      const index = join(place.folder, "index.landing");
      const strange = await strangersAmong(checkout, index, [from, made], await changesBetween(place, from, made));
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

const refAt = ({ session_id }: Place) => `refs/bosun/${nameOf(session_id)}`;

async function fetchMade(place: Place, { root }: Landing): Promise<void> {
  await place.git(root, ["fetch", "--", repositoryOf(place), `+${MADE}:${refAt(place)}`]);
}

async function move(place: Place, landing: Landing, worktree: string | undefined): Promise<void> {
  const { root, branch, old, from, made } = landing;
  await fetchMade(place, landing);
  if (worktree !== undefined)
    await writePaths({ git: place.git, worktree }, made, await changesBetween(place, from, made));
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
