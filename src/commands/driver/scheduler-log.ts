import { openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory, OWN } from "../../lib/files.ts";
import { ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";

/** Maximum length of the part of the file that is shown, in characters. */
const WORDS_SHOWN = 4_000;

/** Matches the first line of each scheduler. */
const FIRST_LINE = /^\S+Z process \d+ .*$/gm;

/** The log file of a session's schedulers that run in their own processes. */
export function schedulerLog(home: string, session_id: string): string {
  return join(sessionPaths(home, session_id).folder, "scheduler.log");
}

/** Opens that file for appending; the caller closes it. Fails with `storage` or `storage_full`. */
export function openSchedulerLog(home: string, session_id: string): Result<number, Failure> {
  const log = schedulerLog(home, session_id);
  const open = () => {
    makeDirectory(dirname(log));
    return ok(openSync(log, "a", OWN.mode));
  };
  return attempt(dirname(log), open, "The scheduler's log");
}

/** Separates the messages of a scheduler from those of earlier ones. */
export function firstLine(at: string, session_id: string): string {
  return `${at} process ${process.pid} runs ${session_id}`;
}

/** The end of a sentence about the exit of the last scheduler: its messages, or a full stop if there are none. */
export function lastWords(home: string, session_id: string): string {
  let text = "";
  try {
    text = readFileSync(schedulerLog(home, session_id), "utf8");
  } catch {
    // No file means no messages.
  }
  const words = (text.split(FIRST_LINE).at(-1) ?? "").slice(-WORDS_SHOWN).trim();
  return words === "" ? "." : `, saying:\n${words}`;
}

/** Why a session has neither an owner nor a recorded end. */
export function vanished(home: string, session_id: string): Failure {
  const what = `The scheduler of ${session_id} exited unexpectedly${lastWords(home, session_id)}`;
  return failure("internal", what, { hint: "What was committed is safe." });
}
