import { objectOf } from "../lib/json.ts";
import type { ChangedFile, ChangedFiles } from "../protocol/record.ts";
import { cut } from "../protocol/refusal.ts";
import type { Ledger } from "./ledger.ts";
import type { TurnDraft } from "./mode.ts";

/** Of more files, the others are only counted. */
const MAX_FILES = 200;

/** Of more subjects, the others are not named. */
const MAX_NAMED = 20;

/** In characters. */
const MAX_STAT = 10_000;

/** The files in order, as many as a record holds, and the number of all of them with `hidden` others. */
export function listedChanges(files: readonly ChangedFile[], beside: Iterable<string>, hidden = 0): ChangedFiles {
  const inOrder = files.toSorted((a, b) => (a.path < b.path ? -1 : 1)).slice(0, MAX_FILES);
  const named = namesOf(beside);
  return { files: inOrder, count: files.length + hidden, ...(named.length > 0 && { beside: named }) };
}

function namesOf(subjects: Iterable<string>): string[] {
  return [...new Set(subjects)].toSorted().slice(0, MAX_NAMED);
}

/** What the subjects have changed after another turn about one of them: this one, and those that have changed the same files. */
export function changesAfter(
  all: ReadonlyMap<string, ChangedFiles>,
  subject: string,
  turn: ChangedFiles,
): Map<string, ChangedFiles> {
  const { files, count, beside = [] } = all.get(subject) ?? { files: [], count: 0 };
  const own = new Map(files.map((file) => [file.path, file]));
  for (const { path, change } of turn.files) {
    const before = own.get(path);
    const isBack = before?.change === "deleted" && change === "added";
    const isNew = before?.change === "added";
    if (isNew && change === "deleted") own.delete(path);
    else own.set(path, { ...before, path, change: isNew ? "added" : isBack ? "modified" : change });
  }
  const after = new Map<string, ChangedFiles>();
  for (const [other, changes] of all) {
    if (other === subject || !changes.files.some(({ path }) => own.has(path))) continue;
    const theirs = changes.files.map((file) => (own.has(file.path) ? alsoBy(file, subject) : file));
    for (const { path } of theirs) {
      const file = own.get(path);
      if (file) own.set(path, alsoBy(file, other));
    }
    after.set(other, { ...changes, files: theirs });
  }
  const hidden = count - files.length + turn.count - turn.files.length;
  return after.set(subject, listedChanges([...own.values()], [...beside, ...(turn.beside ?? [])], hidden));
}

function alsoBy(file: ChangedFile, subject: string): ChangedFile {
  return { ...file, also: namesOf([...(file.also ?? []), subject]) };
}

/** A line for each file, and what else is to be known. Recorded in requests: older logs hold these words. */
export function changeLines(
  { files, count, beside = [] }: ChangedFiles = { files: [], count: 0 },
  most = 20,
): string[] {
  const shown = files.slice(0, most);
  return [
    ...shown.map(
      ({ change, path, also = [] }) => `${change} ${path}${also.length > 0 ? ` (${also.join(", ")}, too)` : ""}`,
    ),
    ...(count > shown.length ? [`and ${count - shown.length} more`] : []),
    ...(beside.length > 0 ? [`while ${beside.join(", ")} ran, too`] : []),
  ];
}

/** The draft of a request, which tells a reviewer the files that the turns about the subject have changed. */
export function withChanges(draft: TurnDraft, { changes }: Ledger, subject = ""): TurnDraft {
  const { payload_type, payload } = draft.message;
  const changed = changes.get(subject);
  if (payload_type !== "review_request" || changed === undefined) return draft;
  const diff_stat = cut(changeLines(changed, MAX_FILES).join("\n"), MAX_STAT);
  return { ...draft, message: { payload_type, payload: { ...objectOf(payload), diff_stat } } };
}
