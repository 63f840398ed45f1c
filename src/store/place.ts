import { statSync } from "node:fs";
import { err, ok, type Result } from "../lib/result.ts";
import { failure, type Failure } from "../protocol/failure.ts";
import type { Database } from "./database.ts";

/**
 * Says whether an open database still has its files under their names: one that was deleted or replaced takes commits without a
 * word, and they are gone with the process. Asking costs two looks at the directory. Gives `storage`, naming the file.
 */
export function watchPlace({ name, memory }: Database): () => Result<void, Failure> {
  if (memory) return () => ok(undefined);
  const file = identity(name);
  const journal = `${name}-wal`;
  // It is made with the first write, and stays while anybody has the database open.
  let journalSeen = identity(journal);
  return () => {
    if (file === undefined || identity(name) !== file) return err(databaseGone(name));
    const journalNow = identity(journal);
    if (journalSeen !== undefined && journalNow !== journalSeen) return err(journalGone(journal));
    journalSeen = journalNow;
    return ok(undefined);
  };
}

function identity(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

function databaseGone(path: string): Failure {
  return failure(
    "storage",
    `The database was deleted or replaced while it was in use: ${path}. Nothing more is written.`,
    {
      hint: "Every record until then is a file in logs/. Put the database back to go on, or begin in another home with --home.",
    },
  );
}

function journalGone(path: string): Failure {
  return failure(
    "storage",
    `The database's journal was deleted while it was in use: ${path}. Nothing more is written.`,
    {
      hint: "What it held goes into the database as this process ends. Resume the session then, and leave bosun.db-wal where it is.",
    },
  );
}
