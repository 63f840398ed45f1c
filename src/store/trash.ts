import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { databasePath, openForWriting } from "./database.ts";
import { guarded } from "./storage-failure.ts";
import type { SessionRow } from "./store.ts";

// A session is in the trash of its home while `trash/` has a file with its id, or with the id and `~` from the moment on that it is deleted for good.
// Making, removing or renaming that file is all that moves a session, so no process can die halfway.

export interface Trashed {
  readonly session_id: string;
  /** When it was put there, in ms since 1970. */
  readonly at: number;
  readonly isGoing: boolean;
}

export function trashFile(home: string, session_id: string, isGoing = false): string {
  return join(home, "trash", isGoing ? `${session_id}~` : session_id);
}

/** The sessions in the trash of a home, by id. */
export function trashOf(home: string): Trashed[] {
  const trash = join(home, "trash");
  return namesIn(trash).map((name) => {
    const at = statSync(join(trash, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { session_id: name.replace("~", ""), at, isGoing: name.endsWith("~") };
  });
}

/** Whether a session, or one that it is part of, is in the trash. */
export function isTrashed(home: string): (row: Pick<SessionRow, "session_id" | "parent">) => boolean {
  const names = namesIn(join(home, "trash")).map((name) => name.replace("~", ""));
  return ({ session_id, parent }) =>
    names.some((name) => session_id === name || (parent !== null && session_id.startsWith(`${name}.`)));
}

/** Deletes all rows of a session and of those below it. */
export function deleteSession(home: string, session_id: string): Fallible<void> {
  const all =
    "WITH RECURSIVE below (id) AS (VALUES (?) UNION SELECT session_id FROM sessions JOIN below ON parent = id)";
  return execute(home, `${all} DELETE FROM sessions WHERE session_id IN below`, session_id);
}

/** Gives the space of deleted rows back to the file system. */
export function compact(home: string): Fallible<void> {
  return execute(home, "VACUUM");
}

/** Runs one statement, in a transaction of its own. */
function execute(home: string, statement: string, ...values: readonly string[]): Fallible<void> {
  const opened = openForWriting(home);
  if (!opened.ok) return opened;
  try {
    return guarded(databasePath(home), () => ok(void opened.value.prepare(statement).run(...values)));
  } finally {
    opened.value.close();
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    // There is no trash.
    return [];
  }
}
