import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import {
  CHECK_TREE,
  type Copy,
  dropFolder,
  folderOf,
  indexOf,
  lay,
  readyIn,
  removeOthers,
  type Unmerged,
} from "./copy.ts";
import { commit, moved, objectOf } from "./objects.ts";
import { answered, BASE, own, type Place, SESSION, tried } from "./place.ts";

// The integration queue, one step at a time: `merge` makes a commit that no ref names, the caller checks it in `checkOut` and records that it is about to
// be merged, `advance` moves the session's branch. Each step can be repeated after a crash, and makes the same again.

/** Approved work of a ticket. */
export interface Approved {
  readonly ticket_id: string;
  readonly attempt: number;
  readonly commit: string;
  readonly subject: string;
  /** The hash of the log when it was approved. */
  readonly log_head: string;
  readonly at: string;
}

/** A file in which two changes cannot be brought together, with the places. */
export interface ConflictedFile {
  readonly path: string;
  readonly hunks: readonly string[];
}

export type Merge =
  | { readonly state: "merged"; readonly commit: string; readonly tip: string }
  | { readonly state: "made"; readonly tip: string; readonly commit: string }
  | { readonly state: "conflict"; readonly conflict: Unmerged; readonly hunks: readonly ConflictedFile[] };

/** A merge on the session's branch. */
export interface Merged {
  readonly ticket_id: string;
  readonly attempt: number;
  readonly commit: string;
}

/** In characters, of one hunk and of all hunks of a file. */
const MAX_HUNK = 4_000;
const MAX_HUNKS = 16_000;

/** The session's branch: its tip, and what is merged since a commit, oldest first. The branch is the truth about this; records follow it. */
export async function branchOf(
  place: Place,
  since = BASE,
): Promise<{ readonly tip: string; readonly merged: readonly Merged[] }> {
  const trailer = (key: string) => `%(trailers:key=${key},valueonly,separator=)`;
  const format = `--format=%H ${trailer("Bosun-Ticket")} ${trailer("Bosun-Attempt")}`;
  const lines = await own(place, ["log", "--first-parent", "--reverse", format, `${since}..${SESSION}`]);
  const merged = lines.split("\n").flatMap((line) => {
    const [commit = "", ticket_id = "", attempt = ""] = line.split(" ");
    return commit === "" ? [] : [{ commit, ticket_id, attempt: Number(attempt) }];
  });
  const tip = merged.at(-1)?.commit ?? (await objectOf(place, SESSION));
  if (tip === undefined) throw new Error(`git log: ${SESSION} is missing`, { cause: { exitCode: 128 } });
  return { tip, merged };
}

/** Makes the merge of approved work onto the session's branch, unless it is merged already or in conflict. Writes objects only. */
export function merge(place: Place, work: Approved): Promise<Fallible<Merge>> {
  const { ticket_id, attempt, at } = work;
  return tried<Merge>(`${ticket_id} cannot be merged`, place.folder, async () => {
    // Work never holds its own merge. The whole branch would take longer with each merge.
    const { tip, merged } = await branchOf(place, work.commit);
    const done = merged.find((other) => other.ticket_id === ticket_id);
    if (done !== undefined) return ok({ state: "merged", commit: done.commit, tip });
    // The ticket's side is the first, as in its copy, where the tip is merged into the work.
    const result = await mergeTrees(place, work.commit, tip);
    if ("entries" in result)
      return ok({ state: "conflict", conflict: { ...result, tip }, hunks: await hunksOf(place, result) });
    const trailers = { "Bosun-Ticket": ticket_id, "Bosun-Attempt": attempt, "Bosun-Log-Head": work.log_head };
    const parents = [tip, work.commit];
    const made = await commit(place, { tree: result.tree, parents, subject: work.subject, trailers, at });
    return ok({ state: "made", tip, commit: made });
  });
}

/** Moves the session's branch to a merge; `moved` if it is no longer at the tip for which that was made: then merge and check again. */
export function advance(place: Place, made: Extract<Merge, { state: "made" }>): Promise<Fallible<"merged" | "moved">> {
  return tried<"merged" | "moved">("The session's branch cannot be moved", place.folder, async () =>
    ok((await moved(place, SESSION, made.commit, made.tip)) ? "merged" : "moved"),
  );
}

/** What others have merged since a work's start that changes these files, oldest first. */
export function touching(
  place: Place,
  work: string,
  tip: string,
  files: readonly string[],
): Promise<Fallible<readonly { readonly ticket_id: string; readonly subject: string }[]>> {
  return tried("What others have merged cannot be read", place.folder, async () => {
    const format = "--format=%x01%(trailers:key=Bosun-Ticket,valueonly,separator=)%x09%s%x00";
    const which = ["--first-parent", "--diff-merges=first-parent", "--reverse", "--name-only", "-z", format] as const;
    const entries = (await own(place, ["log", ...which, `${work}..${tip}`])).split("\u0001");
    return ok(
      entries.flatMap((entry) => {
        const [head = "", ...changed] = entry.split("\0").map((part) => part.trim());
        const [ticket_id = "", subject = ""] = head.split("\t");
        return ticket_id !== "" && changed.some((path) => files.includes(path)) ? [{ ticket_id, subject }] : [];
      }),
    );
  });
}

/** A tree of two commits, or the conflict between them. */
export async function mergeTrees(
  place: Place,
  ours: string,
  theirs: string,
): Promise<{ readonly tree: string } | Omit<Unmerged, "tip">> {
  const { yes, text } = await answered(own(place, ["merge-tree", "-z", ours, theirs]));
  const [tree = "", ...rest] = text.split("\0");
  if (yes) return { tree };
  // Lines for the index, an empty part, then messages.
  const entries = rest.slice(0, rest.indexOf(""));
  const files = [...new Set(entries.map((entry) => entry.slice(entry.indexOf("\t") + 1)))];
  // What is there with one stage must go first.
  const away = files.map((file) => `0 ${"0".repeat(tree.length)}\t${file}`);
  return { tree, entries: [...away, ...entries], files };
}

async function hunksOf(place: Place, { tree, files }: Omit<Unmerged, "tip">): Promise<ConflictedFile[]> {
  const found: ConflictedFile[] = [];
  for (const path of files) {
    const object = await objectOf(place, `${tree}:${path}`);
    const text = object === undefined ? "" : await own(place, ["cat-file", "-p", object]);
    const shown = text.toWellFormed().replaceAll("\r\n", "\n");
    const all = shown.match(/^<{7} .*?^>{7} [^\n]*$/gms) ?? [];
    let length = 0;
    const hunks = all.map((hunk) => hunk.slice(0, MAX_HUNK)).filter((hunk) => (length += hunk.length) <= MAX_HUNKS);
    found.push({ path, hunks });
  }
  return found;
}

/**
 * The tree in which checks run, with this commit checked out, and nothing else but what git ignores; with `anew`, not even that. Checks are programs of
 * others: its `.git` is made anew each time.
 */
export function checkOut(place: Place, commit: string, { anew = false } = {}): Promise<Fallible<Copy>> {
  const folder = folderOf(place, CHECK_TREE);
  return tried("The tree for checks cannot be prepared", folder, async () => {
    if (anew || readyIn(folder) === undefined) dropFolder(folder);
    const copy = await lay(place, folder, commit);
    await removeOthers(place, copy, indexOf(folder));
    return ok(copy);
  });
}

/** What the session has changed, or from one commit to another, as git shows it. */
export function difference(
  place: Place,
  { from = BASE, to = SESSION, stat = false }: { from?: string; to?: string; stat?: boolean } = {},
): Promise<Fallible<string>> {
  return tried("The difference cannot be shown", place.folder, async () => {
    for (const name of [from, to])
      if ((await objectOf(place, `${name}^{commit}`)) === undefined)
        return fails("not_found", `The session's repository has no commit ${name}.`, { hint: "Run `bosun status`." });
    return ok(await own(place, ["diff", ...(stat ? ["--stat"] : []), from, to]));
  });
}
