import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isDirectory } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { copiesIn, dropFolder, readyIn } from "./copy.ts";
import { type Place, repositoryOf, tried } from "./place.ts";
import { branchOf, type Merged } from "./queue.ts";

/** What the caller's records say of merges. */
interface Recorded {
  /** In this order. */
  readonly merged: readonly string[];
  /** Merges that were about to be made. */
  readonly intended: readonly string[];
}

export interface Recovered {
  /** Files that killed git processes left, removed. */
  readonly leftovers: readonly string[];
  /** Copies that were not ready, removed: no agent has been in them. */
  readonly unready: readonly string[];
  /** Merges that are on the branch, and intended, but not on record yet. */
  readonly unrecorded: readonly Merged[];
}

/**
 * Puts a session's folder in order after a crash. No git process of an earlier scheduler may be alive. A branch that does not agree with the records is
 * `verification_failed`: the disk or the database were put back to an earlier state.
 */
export function recover(place: Place, recorded: Recorded): Promise<Fallible<Recovered>> {
  return tried("The session's copies cannot be recovered", place.folder, async () => {
    const repository = repositoryOf(place);
    if (!isDirectory(repository)) return ok({ leftovers: [], unready: [], unrecorded: [] });
    const leftovers = leftoversIn(repository);
    for (const file of leftovers) rmSync(file, { recursive: true, force: true });
    const unready = namesIn(copiesIn(place)).filter((name) => readyIn(join(copiesIn(place), name)) === undefined);
    for (const name of unready) dropFolder(join(copiesIn(place), name));
    const { merged } = await branchOf(place);
    const known = merged.slice(0, recorded.merged.length).map(({ commit }) => commit);
    const unrecorded = merged.slice(recorded.merged.length);
    const stranger = unrecorded.find(({ commit }) => !recorded.intended.includes(commit));
    const lost = recorded.merged.find((commit, at) => known[at] !== commit);
    if (lost === undefined && stranger === undefined) return ok({ leftovers, unready, unrecorded });
    const what =
      lost === undefined
        ? `holds ${stranger?.commit} of ${stranger?.ticket_id}, which the record does not name`
        : `does not hold ${lost}, which the record calls merged`;
    return fails("verification_failed", `The branch of ${place.session_id} in ${repository} ${what}.`, {
      hint: "Put the session's folder and the database back to the same moment, or discard the session.",
    });
  });
}

function namesIn(folder: string): string[] {
  return isDirectory(folder) ? readdirSync(folder) : [];
}

/** Locks and half written objects. */
function leftoversIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (/\.lock$|^tmp_|^incoming-/.test(entry.name)) return [path];
    return entry.isDirectory() ? leftoversIn(path) : [];
  });
}
