import { join } from "node:path";
import { type JsonObject, listOf, objectOf } from "../lib/json.ts";
import { baselineOf } from "../protocol/criteria.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { clipped, safeText } from "./display.ts";
import { wordsOf } from "./words.ts";

/** How much of the output of a failed agent or check is shown. */
export interface PrintedLimits {
  /** In columns. */
  readonly width: number;
  readonly last_lines: number;
  /** The folder with the output of agents, if it is to be named. */
  readonly output?: string | undefined;
}

/** Maximum width of the command of a failed check, in columns. */
const COMMAND_WIDTH = 60;

/** What each failed criterion requires, and why it failed. */
export function failedChecks(payload: JsonObject): string[] {
  return failedResults(payload).map((result) =>
    [wordsOf(result.criterion), whyFailed(result)].filter((words) => words !== "").join(": "),
  );
}

/** The last lines printed by the failed agent or the failed checks of a record, and the file with the whole output. */
export function printedLines({ payload_type, payload, record }: UnsealedRecord, limits: PrintedLimits): string[] {
  if (payload_type === "check_result") {
    if (baselineOf(wordsOf(payload.check_id)) === "plan") return [];
    return failedResults(payload).flatMap((result) => lastLines(wordsOf(result.output), limits));
  }
  if (payload_type !== "turn_failed") return [];
  const printed = wordsOf((payload.details as JsonObject | undefined)?.stderr_tail);
  const { turn_id, run } = record;
  const lines = lastLines(printed, limits, isMessage);
  if (lines.length === 0 || limits.output === undefined || turn_id === undefined) return lines;
  return [...lines, `stderr: ${join(limits.output, `${turn_id}.${run ?? 1}.stderr.log`)}`];
}

/** The last lines of a text that are not blank. If the text is longer, only `preferred` lines, if there are any. */
export function lastLines(
  text: string,
  { width, last_lines }: PrintedLimits,
  preferred: (line: string) => boolean = () => true,
): string[] {
  const lines = safeText(text)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const best = lines.length > last_lines ? lines.filter(preferred) : [];
  return (best.length > 0 ? best : lines).slice(-last_lines).map((line) => `| ${clipped(line, width)}`);
}

/** Interpreters print an exception's message among lines that are indented, punctuation, or Node's version. */
function isMessage(line: string): boolean {
  return /^\S*\p{Letter}/u.test(line) && !/^Node\.js v\d/.test(line);
}

export function failedResults(payload: JsonObject): JsonObject[] {
  return resultsOf(payload).filter(({ passed }) => passed !== true);
}

/** The results of a subject's checks, one for each criterion. */
export function resultsOf({ results }: JsonObject): JsonObject[] {
  return listOf(results).map(objectOf);
}

function whyFailed({ criterion, exit_code, output, signal, timed_out }: JsonObject): string {
  const program = wordsOf(listOf(objectOf(criterion).command)[0]);
  // The shell that starts a check reports the check's own program; a missing program inside the check has another name.
  if (exit_code === 127 && wordsOf(output).trimEnd().endsWith(`${program}: not found`)) return `not found: ${program}`;
  if (timed_out === true) return "timed out";
  if (typeof signal === "string") return `ended by ${signal}`;
  const command = clipped(listOf(objectOf(criterion).command).map(wordsOf).join(" "), COMMAND_WIDTH);
  return typeof exit_code === "number" ? `exit code ${exit_code}${command === "" ? "" : ` (${command})`}` : "";
}
