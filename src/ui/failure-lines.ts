import { join } from "node:path";
import type { JsonObject } from "../lib/json.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { clipped, safeText } from "./display.ts";
import type { RecordLine, FormatOptions } from "./format-options.ts";
import { quoted, wordsOf } from "./words.ts";

/** What checks found, in one line: how many failed, and of each what it asks and why it does not hold. */
export function checkLines(payload: JsonObject, room: number): Omit<RecordLine, "ticket"> {
  const failed = failedChecks(payload);
  const all = resultsOf(payload).length;
  if (failed.length === 0) return { text: `checks: ${all} passed`, style: "dim" };
  return { text: `checks: ${failed.length} of ${all} FAILED ${quoted(failed.join("; "), room)}`, style: "yellow" };
}

/** Of each criterion that does not hold what it asks, and why it does not hold if more than its exit code says so. */
export function failedChecks(payload: JsonObject): string[] {
  return failedResults(payload).map((result) => {
    const why = whyFailed(result);
    return [wordsOf(result.criterion), why].filter((words) => words !== "").join(": ");
  });
}

/** The last lines that the record's failed agent or failed checks printed, and where all of it lies; nothing for what went well. */
export function printedLines(record: UnsealedRecord, { last_lines, output, room }: FormatOptions): string[] {
  const { payload_type, payload } = record;
  if (payload_type === "check_result") {
    return failedResults(payload).flatMap((result) => lastLines(wordsOf(result.output), last_lines, room));
  }
  if (payload_type !== "turn_failed") return [];
  const words = wordsOf((payload.details as JsonObject | undefined)?.stderr_tail);
  const { turn_id, run } = record.record;
  const lines = lastLines(words, last_lines, room, isMessage);
  if (lines.length === 0 || output === undefined || turn_id === undefined) return lines;
  return [...lines, `stderr: ${join(output, `${turn_id}.${run ?? 1}.stderr.log`)}`];
}

/**
 * The last lines of a text that hold anything, each made safe and cut to `room` columns; where there are more than are shown, those that
 * `matter`, if any does.
 */
function lastLines(text: string, most: number, room: number, matter: (line: string) => boolean = () => true): string[] {
  const lines = safeText(text)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const telling = lines.length > most ? lines.filter(matter) : [];
  return (telling.length > 0 ? telling : lines).slice(-most).map((line) => `| ${clipped(line, room)}`);
}

/** What interpreters print around the message of an exception is indented, is punctuation, or is Node's last line, its version. */
function isMessage(line: string): boolean {
  return /^\S*\p{Letter}/u.test(line) && !/^Node\.js v\d/.test(line);
}

function failedResults(payload: JsonObject): JsonObject[] {
  return resultsOf(payload).filter(({ passed }) => passed !== true);
}

/** What a subject's checks came to, one for each criterion. */
function resultsOf({ results }: JsonObject): JsonObject[] {
  return (Array.isArray(results) ? results : []) as JsonObject[];
}

function whyFailed({ criterion, exit_code, output, signal, timed_out }: JsonObject): string {
  const { command } = (criterion ?? {}) as JsonObject;
  const program = Array.isArray(command) ? wordsOf(command[0]) : "";
  // A shell that finds nothing to become says so itself; one that calls what is not there says another name.
  const isThere = exit_code !== 127 || !wordsOf(output).trimEnd().endsWith(`${program}: not found`);
  if (!isThere) return `not found: ${program}`;
  if (timed_out === true) return "not finished in time";
  if (typeof signal === "string") return `ended by ${signal}`;
  return typeof exit_code === "number" ? `exit code ${exit_code}` : "";
}
