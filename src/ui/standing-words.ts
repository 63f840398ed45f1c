import { UNAVAILABLE } from "../kernel/outages.ts";
import { briefWords, totalWords } from "../log/usage-words.ts";
import type { Standing } from "../runtime/feed/standing.ts";
import { heldWords } from "./hold-words.ts";
import { counted, runningWords } from "./words.ts";

/** `(7/20)`. */
export function doneWords(counts: Standing["counts"]): string {
  return `(${counts.done ?? 0}/${allOf(counts)})`;
}

function statesOf(counts: Standing["counts"]): string[] {
  return Object.entries(counts).flatMap(([status, count]) => (count > 0 ? [`${count} ${status}`] : []));
}

function allOf(counts: Standing["counts"]): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** A session's standing in one line: which role works on what and for how long, running checks, held roles, and the counts. */
export function standingWords(
  { state, counts, turns, waiting, usage, running, checking, held }: Standing,
  now: number,
): string {
  const states = statesOf(counts);
  return [
    `${state}: ${runningWords(running, now) || "no agent"}`,
    ...(checking.length > 0 ? [`checking ${checking.join(", ")}`] : []),
    ...(held.length > 0 ? [`held: ${heldWords(held).join(", ")}`] : []),
    ...(states.length > 0 ? [states.join(", ")] : []),
    counted(turns, "turn"),
    ...totalWords(usage),
    ...(waiting > 0 ? [`${counted(waiting, "answer")} awaited`] : []),
  ].join("; ");
}

/** The states of a ticket. Subjects that state something instead of doing work have other states and are never done. */
const OF_WORK: ReadonlySet<string> = new Set(
  "pending discussing in_progress awaiting_review blocked done error".split(" "),
);

/** A short summary, the most important parts first: `7/20 done · 6 at work · 1 needs you · $1.20`. */
export function summaryWords({ state, counts, waiting, usage, running, checking, held }: Standing): string {
  const { outages = [], others = [] } = Object.groupBy(held, ({ reason }) =>
    reason === UNAVAILABLE ? "outages" : "others",
  );
  const all = allOf(counts);
  const isOfWork = all > 0 && Object.keys(counts).every((status) => OF_WORK.has(status));
  const { error = 0 } = counts;
  const busy = running.length + checking.length;
  return [
    ...(state === "paused" ? [state] : []),
    ...(isOfWork ? [`${counts.done ?? 0}/${all} done`] : statesOf(counts)),
    ...(busy > 0 ? [`${busy} at work`] : []),
    ...(waiting > 0 ? [waiting === 1 ? "1 needs you" : `${waiting} need you`] : []),
    ...(error > 0 ? [`${error} in error`] : []),
    ...heldWords(outages),
    ...(others.length > 0 ? [`${others.length} held`] : []),
    ...briefWords(usage),
  ].join(" · ");
}
