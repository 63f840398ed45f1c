import type { UnsealedRecord } from "../protocol/record.ts";
import type { PayloadType } from "../protocol/payload.ts";
import { defined, type Json, type JsonObject, objectOf, textOf } from "../lib/json.ts";
import { safeText } from "./display.ts";
import { failedChecks, failedResults } from "./failure-lines.ts";
import { allWords, wordsOf } from "./words.ts";

/** Why work failed, first in the words of the program or the criterion that failed. Untrusted text. */
export interface Cause {
  /** One line: the message of a program that failed, the criteria that were not met, what a worker reported. */
  readonly words: string;
  /** What the agent or the checks printed last. */
  readonly printed: string;
  /** What can be done about it, if that is known. */
  readonly hint?: string | undefined;
  /** The role whose turn failed, if a turn did. */
  readonly role_id?: string | undefined;
}

/** The records that give or clear a cause. */
export const CAUSES: readonly PayloadType[] = ["turn_failed", "check_result", "report", "review", "error"];

/** A line in which a program says what is wrong, among usage and stack traces. */
const TELLING = /error|exception|cannot|can't|not found|no such|denied|refused|missing/i;

/** The cause after another record about the same subject, or about the session. Call with all records of `CAUSES` in order. */
export function nextCause(cause: Cause | undefined, record: UnsealedRecord): Cause | undefined {
  const { source, payload_type, payload, record: stored } = record;
  if (stored.disposition !== "applied") return cause;
  switch (payload_type) {
    case "turn_failed":
      return ofTurn(payload) ?? cause;
    case "check_result": {
      const failed = failedChecks(payload);
      if (failed.length === 0) return cause;
      const printed = failedResults(payload).map(({ output }) => wordsOf(output).trimEnd());
      return { words: failed.join("; "), printed: printed.join("\n") };
    }
    case "report":
      if (payload.status === "completed") return undefined;
      return payload.status === "error" || payload.status === "blocked" ? told(wordsOf(payload.summary)) : cause;
    case "review":
      // Of work that fails its checks, they say more than the reviewer.
      return payload.decision === "approved" ? undefined : (cause ?? told(`not accepted: ${reviewWords(payload)}`));
    case "error":
      // A scheduler's record without a turn is about somebody's message. A manager that gives up has a reason that came before.
      if (source === "scheduler" && stored.turn_id === undefined) return cause;
      return cause ?? told(textOf(payload.message), payload.resolution_hint);
  }
  return cause;
}

/** What a review wants changed, or its notes. Untrusted text. */
export function reviewWords({ requested_changes, notes }: JsonObject): string {
  return allWords(requested_changes).join("; ") || wordsOf(notes);
}

/** The last lines of what it printed, if they say more than its words. */
export function printedIn(cause: Cause | undefined, most: number): string[] {
  if (cause === undefined) return [];
  const lines = safeText(cause.printed)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return most === 0 || (lines.length === 1 && lines[0] === cause.words) ? [] : lines.slice(-most);
}

function told(words: string, hint?: Json): Cause | undefined {
  return words === "" ? undefined : { words, printed: "", ...defined({ hint: textOf(hint) || undefined }) };
}

function ofTurn(payload: JsonObject): Cause | undefined {
  const { code, message, resolution_hint } = payload;
  const details = objectOf(payload.details);
  // A stop says itself how many turns it cuts off.
  if (details.cut_off === true) return undefined;
  const printed = wordsOf(details.stderr_tail);
  const exited = code === "agent_failed" && typeof details.exit_code === "number";
  const words = (exited ? tellingLine(printed) : undefined) ?? textOf(message);
  return {
    words,
    printed,
    ...defined({ hint: textOf(resolution_hint) || undefined, role_id: textOf(payload.role_id) || undefined }),
  };
}

/** The line of an output that says what is wrong: interpreters and package managers print much around it. */
function tellingLine(output: string): string | undefined {
  const lines = safeText(output)
    .split("\n")
    .filter((line) => /^\S*\p{Letter}/u.test(line) && !/^Node\.js v\d/.test(line));
  return lines.findLast((line) => TELLING.test(line)) ?? lines.at(-1);
}
