import type { SessionState, SubjectState } from "../kernel/state.ts";
import type { Cause } from "./cause.ts";

/** The reason of approved work until it is merged. */
export const WAITS = "waiting_for_merge";

const SENT_BACK: ReadonlySet<string | undefined> = new Set(["merge_conflict", "merge_failed"]);

const ORDINALS = new Intl.PluralRules("en", { type: "ordinal" });
const ENDINGS: Readonly<Record<string, string>> = { one: "st", two: "nd", few: "rd" };

/** How far the merge of a subject's work is, or with what it was sent back; undefined if there is nothing to say of it. */
export function mergingWords(
  { subjects, checks }: Pick<SessionState, "subjects" | "checks">,
  { id, status, reason }: Pick<SubjectState, "id" | "status" | "reason">,
  causeOf: () => Cause | undefined,
): string | undefined {
  if (reason === WAITS) {
    const queue = [...checks].filter(([, { subject = "" }]) => subjects.get(subject)?.reason === WAITS);
    // The ids have the numbers of the records that approve.
    const inOrder = queue.toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
    const place = inOrder.findIndex(([, { subject }]) => subject === id) + 1;
    if (place === 1) return "checking the merged tree";
    return `waiting to be merged${place === 0 ? "" : ` (${place}${ENDINGS[ORDINALS.select(place)] ?? "th"})`}`;
  }
  const cause = status === "in_progress" && SENT_BACK.has(reason) ? causeOf() : undefined;
  return cause && `sent back: ${cause.words}`;
}
