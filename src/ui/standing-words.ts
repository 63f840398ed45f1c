import { type Presentation, statusesOf } from "../kernel/presentation.ts";
import { UNAVAILABLE } from "../kernel/outages.ts";
import { briefWords, totalWords } from "../log/usage-words.ts";
import type { Standing } from "../runtime/feed/standing.ts";
import { heldWords } from "./hold-words.ts";
import { statusWords } from "./status.ts";
import { counted, runningWords } from "./words.ts";

/** `7/20`: how many subjects are done. */
export function doneOf(counts: Standing["counts"], presentation: Presentation | undefined): string {
  return `${sumOf(counts, statusesOf(presentation, "done"))}/${allOf(counts)}`;
}

/** Whether subjects do work. Those that state something are never done. */
export function isOfWork(presentation: Presentation | undefined): boolean {
  return presentation !== undefined && presentation.statementName === undefined;
}

function sumOf(counts: Standing["counts"], statuses: readonly string[]): number {
  return statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
}

function statesOf(counts: Standing["counts"]): string[] {
  return Object.entries(counts).flatMap(([status, count]) => (count > 0 ? [`${count} ${statusWords(status)}`] : []));
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

/** A short summary, the most important parts first: `7/20 done · 6 at work · 1 needs you · $1.20`. */
export function summaryWords(
  { state, counts, waiting, usage, running, checking, held }: Standing,
  presentation: Presentation | undefined,
): string {
  const { outages = [], others = [] } = Object.groupBy(held, ({ reason }) =>
    reason === UNAVAILABLE ? "outages" : "others",
  );
  const busy = running.length + checking.length;
  const errors = sumOf(counts, statusesOf(presentation, "failed"));
  return [
    ...(state === "paused" ? [state] : []),
    ...(isOfWork(presentation) && allOf(counts) > 0 ? [`${doneOf(counts, presentation)} done`] : statesOf(counts)),
    ...(busy > 0 ? [`${busy} at work`] : []),
    ...(waiting > 0 ? [waiting === 1 ? "1 needs you" : `${waiting} need you`] : []),
    ...(errors > 0 ? [`${errors} failed`] : []),
    ...heldWords(outages),
    ...(others.length > 0 ? [`${others.length} held`] : []),
    ...briefWords(usage),
  ].join(" · ");
}
