import { isJsonObject } from "../lib/json.ts";
import type { ChangedFile, ChangedFiles } from "../protocol/record.ts";
import { cut } from "../protocol/refusal.ts";
import type { Ledger } from "./ledger.ts";
import type { TurnDraft } from "./mode.ts";

/** Of more files, the others are only counted. */
const MAX_FILES = 200;

/** Of more subjects that may have changed a file, the others are not named. */
const MAX_NAMED = 20;

/** In characters. */
const MAX_STAT = 10_000;

/** The files in order, as many as a record holds, and how many there are with those that were not listed before. */
export function listedChanges(files: readonly ChangedFile[], hidden = 0): ChangedFiles {
  const inOrder = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return { files: inOrder.slice(0, MAX_FILES), count: files.length + hidden };
}

/** Adds what a turn changed to what each subject has changed. Returns the subjects whose files are told anew: others may have changed the same. */
export function changesAfter(
  all: ReadonlyMap<string, ChangedFiles>,
  subject: string,
  turn: ChangedFiles,
): [subject: string, changes: ChangedFiles][] {
  const before = all.get(subject) ?? { files: [], count: 0 };
  const own = new Map(before.files.map((file) => [file.path, file]));
  for (const file of turn.files) {
    const change = changeAfter(own.get(file.path), file);
    own.delete(file.path);
    if (change !== undefined) own.set(file.path, { ...file, change });
  }
  const told: [string, ChangedFiles][] = [];
  for (const [other, changes] of all) {
    if (other === subject) continue;
    const both = new Set(changes.files.flatMap(({ path }) => (own.has(path) ? [path] : [])));
    if (both.size === 0) continue;
    for (const path of both) own.set(path, alsoBy(own.get(path) as ChangedFile, other));
    told.push([
      other,
      { ...changes, files: changes.files.map((file) => (both.has(file.path) ? alsoBy(file, subject) : file)) },
    ]);
  }
  const hidden = before.count - before.files.length + turn.count - turn.files.length;
  told.push([subject, listedChanges([...own.values()], hidden)]);
  return told;
}

/** What became of a file in two changes; undefined if it is as before. */
export function changeAfter(
  before: ChangedFile | undefined,
  { change }: ChangedFile,
): ChangedFile["change"] | undefined {
  if (before?.change === "added") return change === "deleted" ? undefined : "added";
  return before?.change === "deleted" && change === "added" ? "modified" : change;
}

function alsoBy(file: ChangedFile, subject: string): ChangedFile {
  const { also = [], with: beside = [] } = file;
  const isTold = also.includes(subject) || beside.includes(subject) || also.length >= MAX_NAMED;
  return isTold ? file : { ...file, also: [...also, subject].toSorted() };
}

/** A line for each file, and the number of those that are not shown. Recorded in requests: older logs hold these words. */
export function changeLines({ files, count }: ChangedFiles, most: number): string[] {
  const shown = files.slice(0, most).map((file) => `${file.change} ${file.path}${othersOf(file)}`);
  return count > shown.length ? [...shown, `and ${count - shown.length} more`] : shown;
}

function othersOf({ also = [], with: beside = [] }: ChangedFile): string {
  return [
    ...(also.length > 0 ? [` (${also.join(", ")} changed it, too)`] : []),
    ...(beside.length > 0 ? [` (or ${beside.join(", ")} did, running at the same time)`] : []),
  ].join("");
}

/** The draft of a request to a reviewer, with the files that the subject's turns have changed. */
export function withChanges(draft: TurnDraft, { changes }: Ledger, subject = ""): TurnDraft {
  const { payload_type, payload } = draft.message;
  const changed = changes.get(subject);
  if (payload_type !== "review_request" || changed === undefined || !isJsonObject(payload)) return draft;
  const diff_stat = cut(changeLines(changed, MAX_FILES).join("\n"), MAX_STAT);
  return { ...draft, message: { payload_type, payload: { ...payload, diff_stat } } };
}
