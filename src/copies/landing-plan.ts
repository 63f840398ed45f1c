import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { commitOf } from "./checkout.ts";
import { type Landing, landings, MADE, type Refused } from "./landing.ts";
import { commit, holds, objectOf, signingOf } from "./objects.ts";
import { answered, BASE, NO_COMMIT, own, type Person, type Place, repositoryOf, SESSION, tried } from "./place.ts";
import { mergeTrees } from "./queue.ts";

// What a person's branch would become: commits in the session's repository. Nothing is written in the person's.

export type Planned =
  | { readonly state: "planned"; readonly landing: Landing }
  /** With what a person switches to where a conflict can be resolved, if not to the branch of the start. */
  | (Refused & { readonly on?: readonly string[] });

interface Aim {
  readonly root: string;
  /** The full name of the branch. */
  readonly branch: string;
  readonly subject: string;
  readonly at: string;
  readonly author?: Person;
}

const OLD = "refs/bosun/landing/old";

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
      const full = old === undefined ? ["-c", aim.branch, base] : [aim.branch];
      const on = full.map((name) => name.replace("refs/heads/", ""));
      return {
        state: "refused",
        cause: "conflict",
        why: "the branch has moved on, and conflicts with the work",
        paths,
        ...(isApart && { on }),
      };
    };
    let onto = ground;
    if (isApart && old !== undefined) {
      const { root, branch, at } = aim;
      if ((await joined(place, old, tip)) === undefined)
        return isUndone(place)
          ? holdsAll(place, branch)
          : ok({ state: "planned", landing: { root, branch, old, from: old, made: old } });
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
  if (await holds(place, at, other)) return undefined;
  const result = await mergeTrees(place, at, other);
  const isSame = !("entries" in result) && result.tree === (await objectOf(place, `${at}^{tree}`));
  return isSame ? undefined : result;
}

/** Makes the commit that takes a landing back on top of what came later. */
export function planUndo(place: Place, aim: Aim, landing: Landing): Promise<Fallible<Planned>> {
  return tried<Planned>(`${aim.branch} cannot be prepared`, aim.root, async () => {
    const now = await fetched(place, aim.root, aim.branch);
    const range = `${landing.made}..${now}`;
    if (now === undefined || !(await holds(place, now, landing.made)))
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
      return ok({
        state: "refused",
        cause: "later_changes",
        why: "later commits changed the same lines",
        paths: result.files,
      });
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
  const commit = await commitOf(place.git, root, branch);
  if (commit === undefined) return undefined;
  const repository = repositoryOf(place);
  await place.git(repository, ["fetch", "--", root, `+${branch}:${OLD}`], { repository });
  return commit;
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
  const { root, branch, subject, at, author } = aim;
  const made = await commit(place, { ...content, subject, at, ...(author !== undefined && { author }) }, signing);
  await own(place, ["update-ref", MADE, made]);
  return {
    state: "planned",
    landing: { root, branch, old, from, made, ...(undoes !== undefined && { undoes }) },
  };
}
