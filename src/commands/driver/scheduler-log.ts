import { openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory } from "../../lib/directory.ts";
import { ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import type { Failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";

/** How much of the file is looked at, in characters. */
const WORDS_SHOWN = 4_000;

/** What each scheduler of the session begins with. */
const FIRST_LINE = /^\S+Z process \d+ .*$/gm;

/** The file that schedulers in processes of their own write their messages to; those of sessions that go well write one line. */
export function schedulerLog(home: string, session_id: string): string {
  return join(sessionPaths(home, session_id).folder, "scheduler.log");
}

/** Opens that file for appending; whoever opens it closes it. Fails with `storage` or `storage_full`. */
export function openSchedulerLog(home: string, session_id: string): Result<number, Failure> {
  const log = schedulerLog(home, session_id);
  const open = () => {
    makeDirectory(dirname(log));
    return ok(openSync(log, "a"));
  };
  return attempt(dirname(log), open, "The scheduler's log");
}

/** What a scheduler writes first, so that its words can be told from those of an earlier one. */
export function firstLine(at: string, session_id: string): string {
  return `${at} process ${process.pid} runs ${session_id}`;
}

/** What the last scheduler said before it went, for the end of a sentence about that; its full stop if it said nothing. */
export function lastWords(home: string, session_id: string): string {
  let text = "";
  try {
    text = readFileSync(schedulerLog(home, session_id), "utf8");
  } catch {
    // Then it has said nothing.
  }
  const words = (text.split(FIRST_LINE).at(-1) ?? "").slice(-WORDS_SHOWN).trim();
  return words === "" ? "." : `, saying:\n${words}`;
}
