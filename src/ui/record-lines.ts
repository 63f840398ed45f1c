import { shownStatus } from "../kernel/presentation.ts";
import type { JsonObject } from "../lib/json.ts";
import type { RecordedEffect, UnsealedRecord } from "../protocol/record.ts";
import { nextCause, reviewWords } from "./cause.ts";
import { clipped } from "./display.ts";
import { failedChecks, printedLines } from "./failure-lines.ts";
import { authorOf, BRIEF, eventOf, type FormatOptions, OWN_LINE, type RecordLine, type Told } from "./record-event.ts";
import { WAITS } from "./merging.ts";
import { eventStyle, statusWords } from "./status.ts";
import { quoted, said, wordsOf } from "./words.ts";

/** Maximum width of the summary of work, in columns. */
const SUMMARY_WIDTH = 100;

/**
 * The lines of one record for a person who follows the session: each transition, other events, and the last output of what failed. A ticket's
 * requests, progress, and records that repeat a transition have no lines. The reporter shows questions.
 */
export function recordLines(record: UnsealedRecord, options: FormatOptions = BRIEF): RecordLine[] {
  const { disposition, ticket_id } = record.record;
  // The command that a person typed says itself why it was refused.
  const isTyped = record.payload_type === "user_command" && options.codes !== true;
  if (disposition !== "applied") return isTyped ? [] : [{ ticket: ticket_id, ...setAside(record, options) }];
  // A plan creates all its tickets at once and has one line.
  const effects = (record.record.effects ?? []).filter((effect) => effect.from !== null);
  // Why the session's own seat gave up is said once, and not with each subject that it leaves.
  const isGivenUp = record.payload_type === "error" && ticket_id === undefined && effects.length > 1;
  const hasLine = effects.length === 0 || isGivenUp || OWN_LINE.has(record.payload_type);
  const event = hasLine ? eventOf(record, options) : undefined;
  return [
    ...(event ? [{ ticket: ticket_id, ...event }] : []),
    ...transitions(record, effects, options),
    ...(record.record.changed ?? [])
      .filter(({ reason }) => reason === WAITS)
      .map((change): RecordLine => ({ ticket: change.ticket_id, text: statusWords("", WAITS) })),
    ...printedBy(record, options).map((text): RecordLine => ({ ticket: ticket_id, text, style: "dim" })),
  ];
}

/** What it printed last, which may be why it failed, word for word. */
function printedBy(record: UnsealedRecord, options: FormatOptions): string[] {
  const lines = printedLines(record, options);
  const words = options.codes === true ? undefined : nextCause(undefined, record)?.words;
  return lines.length > 0 && lines[0] === `| ${words}` ? lines.slice(1) : lines;
}

function transitions(record: UnsealedRecord, effects: readonly RecordedEffect[], options: FormatOptions): RecordLine[] {
  const { ticket_id } = record.record;
  const reasonOf = options.codes === true ? details : whyMoved;
  const why = OWN_LINE.has(record.payload_type) ? "" : reasonOf(record, options);
  const lines = effects.map((effect): RecordLine => {
    const reason = effect.reason === undefined ? "" : ` reason=${effect.reason}`;
    const own = effect.ticket_id === ticket_id || effects.length === 1 ? why : "";
    const { stage } = shownStatus(options.presentation, effect.to);
    const count = stage === "done" && options.done !== undefined ? `  ${options.done}` : "";
    const text =
      options.codes === true
        ? `${effect.from ?? "new"} -> ${effect.to}${reason}${count}${own}`
        : `${movedTo(record, effect)}${count}${own}`;
    return { ticket: effect.ticket_id, text, style: eventStyle(options.presentation, effect.to) };
  });
  // A subject that is given up was blocked first, in the same words.
  return lines.filter(
    ({ ticket, text }, index) => lines[index - 1]?.ticket !== ticket || lines[index - 1]?.text !== text,
  );
}

/** Where a subject is now, in a person's words. */
function movedTo({ payload_type, payload, record }: UnsealedRecord, { from, to, reason }: RecordedEffect): string {
  const hasFailed = payload_type === "turn_failed" || payload.status === "error";
  if (hasFailed) return (record.attempt ?? 1) > 1 ? `failed (try ${record.attempt})` : "failed";
  if (payload_type === "error") return "given up";
  if (reason === "checks_failed") return payload_type === "review" ? "not accepted" : "checks failed";
  const isSentBack = from === "awaiting_review" && to === "in_progress";
  if (isSentBack || payload.decision === "changes_requested") return "sent back";
  return statusWords(to, reason);
}

/** By whom, and why or with which result. */
function whyMoved(whole: UnsealedRecord, { width }: FormatOptions): string {
  const { source, payload_type, payload } = whole;
  const by = source === "scheduler" ? "" : ` by ${authorOf(whole)}`;
  // The line says already what a review decided.
  const cause = payload_type === "review" ? undefined : nextCause(undefined, whole);
  const words =
    cause === undefined ? clipped(summaryOf(payload_type, payload), SUMMARY_WIDTH) : clipped(cause.words, width);
  return words === "" ? by : `${by}: ${words}`;
}

/** The scheduler writes a refusal; the turn shows whose message it refused. */
function setAside({ source, payload_type, payload, record }: UnsealedRecord, { width, role_id }: FormatOptions): Told {
  const what = payload_type === "error" ? "message" : payload_type;
  const author = source === "scheduler" ? role_id : source;
  const from = author === undefined ? "" : ` from ${author}`;
  return { text: `${record.disposition.toUpperCase()} ${what}${from}${said(payload.message, width)}`, style: "dim" };
}

function details(whole: UnsealedRecord, { width }: FormatOptions): string {
  const { source, payload_type, payload, record } = whole;
  const parts: string[] = [];
  if (payload_type === "report" || payload_type === "turn_failed") {
    if (record.attempt !== undefined) parts.push(`attempt=${record.attempt}`);
  }
  if (source !== "scheduler") parts.push(`by=${authorOf(whole)}`);
  if (payload_type === "turn_failed" || payload_type === "error") {
    parts.push(`${said(payload.message, width)}${said(payload.resolution_hint, width)}`.trim());
  } else {
    const words = summaryOf(payload_type, payload);
    const isTrouble = payload_type === "check_result" || payload.status === "error" || payload.status === "blocked";
    if (words !== "") parts.push(quoted(words, isTrouble ? width : undefined));
  }
  const shown = parts.filter((part) => part !== "");
  return shown.length === 0 ? "" : `  ${shown.join(" ")}`;
}

function summaryOf(payload_type: string, payload: JsonObject): string {
  if (payload_type === "instruction" || payload_type === "plan") return "";
  if (payload_type === "check_result") return failedChecks(payload).join("; ");
  if (payload_type === "review" && payload.decision === "changes_requested") return reviewWords(payload);
  return wordsOf(payload.summary ?? payload.message ?? payload.notes);
}
