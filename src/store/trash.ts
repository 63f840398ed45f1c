import { existsSync, lstatSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { crashPoint } from "../lib/crash-point.ts";
import { createOwn, makeDirectory } from "../lib/files.ts";
import { err, ok } from "../lib/result.ts";
import { MODES } from "../modes/index.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { databasePath, openForWriting } from "./database.ts";
import { busy } from "./failures.ts";
import { lockPath, takeLock } from "./lock.ts";
import { guarded } from "./storage-failure.ts";
import type { SessionRow, Store } from "./store.ts";

// A session is in the trash of its home while `trash/` has a file with its id, or with the id and `~` from the moment on that it is deleted for good.
// Making, removing or renaming that file is all that moves a session, so no process can die halfway.

export interface Trashed {
  readonly session_id: string;
  /** When it was put there, in ms since 1970. */
  readonly at: number;
  readonly isGoing: boolean;
}

export function trashOf(home: string): Trashed[] {
  return namesIn(join(home, "trash")).map((name) => {
    const at = statSync(join(home, "trash", name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { session_id: name.replace("~", ""), at, isGoing: name.endsWith("~") };
  });
}

/** Whether a session, or one that it is part of, is in the trash. */
export function isTrashed(home: string): (row: Pick<SessionRow, "session_id" | "parent">) => boolean {
  const ids = namesIn(join(home, "trash")).map((name) => name.replace("~", ""));
  return (row) => ids.some((id) => isOf(row, id));
}

/** Puts a closed session with its children into the trash. Fails with `usage`, or with `busy` for one that a process holds. */
export function removeSession(home: string, store: Store, { session_id, parent }: SessionRow): Fallible<void> {
  if (parent !== null) return fails("usage", `${session_id} is part of ${parent}.`, { hint: `bosun rm ${parent}` });
  const lock = takeLock(lockPath(home, session_id));
  if (!lock.ok) return lock;
  if (lock.value === null) return err(busy(session_id, store.holder(session_id)));
  try {
    const open = store.sessions().find((row) => row.state !== "closed" && isOf(row, session_id));
    const hint = `End it first: bosun cancel ${open?.session_id}`;
    if (open) return fails("usage", `${open.session_id} is not closed: it is ${open.state}.`, { hint });
    return guarded(fileOf(home, session_id), () => {
      makeDirectory(join(home, "trash"));
      return ok(createOwn(fileOf(home, session_id)));
    });
  } finally {
    lock.value.release();
  }
}

export function restoreSession(home: string, { session_id, isGoing }: Trashed): Fallible<void> {
  if (!isGoing) return guarded(fileOf(home, session_id), () => ok(rmSync(fileOf(home, session_id))));
  return fails("usage", `${session_id} is deleted already, but not wholly.`, { hint: "bosun prune --purge" });
}

/** Deletes a session of the trash for good. What a process that dies has left, the next call deletes. */
export function purgeSession(home: string, store: Store, { session_id, isGoing }: Trashed): Fallible<void> {
  const going = `${fileOf(home, session_id)}~`;
  return guarded(going, () => {
    if (!isGoing) renameSync(fileOf(home, session_id), going);
    crashPoint("trash_going");
    const all =
      "WITH RECURSIVE below (id) AS (VALUES (?) UNION SELECT session_id FROM sessions JOIN below ON parent = id)";
    const deleted = execute(home, `${all} DELETE FROM sessions WHERE session_id IN below`, session_id);
    if (!deleted.ok) return deleted;
    crashPoint("trash_rows");
    const others = [...store.sessions(), ...trashOf(home)].map((one) => one.session_id);
    const known = new Set(others.filter((id) => id !== session_id));
    for (const folder of foldersOf(home, session_id, known)) rmSync(folder, { recursive: true });
    crashPoint("trash_folders");
    return ok(rmSync(going));
  });
}

/** What was discarded of sessions, and a function that deletes it for good. */
export function discardedIn(home: string): { readonly at: number; readonly purge: () => Fallible<void> }[] {
  return namesIn(join(home, "sessions")).flatMap((session_id) => {
    const folder = join(home, "sessions", session_id, "trash");
    const at = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
    const purge = () => guarded(folder, () => ok(rmSync(folder, { recursive: true, force: true })));
    return at === undefined ? [] : [{ at, purge }];
  });
}

/** Gives the space of deleted rows back to the file system. */
export function compact(home: string): Fallible<void> {
  return execute(home, "VACUUM");
}

/** How many bytes a file, or a folder with all in it, takes on the disk. */
export function diskUse(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  const inside = stat?.isDirectory() ? readdirSync(path) : [];
  // Blocks are of 512 bytes on every system.
  return inside.reduce((sum, name) => sum + diskUse(join(path, name)), (stat?.blocks ?? 0) * 512);
}

/** The folders of a session and of those below it, found by their names: its rows may be gone. Not those of `others`. */
export function foldersOf(home: string, session_id: string, others: ReadonlySet<string> = new Set()): string[] {
  const mailboxes = Array.from(MODES.values(), ({ reader }) => reader.mailbox?.folder ?? []).flat();
  return ["logs", "sessions", ...mailboxes].flatMap((kind) =>
    namesIn(join(home, kind))
      .filter((name) => isOf({ session_id: name, parent: "" }, session_id) && !others.has(name))
      .map((name) => join(home, kind, name)),
  );
}

/** Whether a session is this one or below it. */
function isOf(row: Pick<SessionRow, "session_id" | "parent">, session_id: string): boolean {
  return row.session_id === session_id || (row.parent !== null && row.session_id.startsWith(`${session_id}.`));
}

function fileOf(home: string, session_id: string): string {
  return join(home, "trash", session_id);
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
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
}
