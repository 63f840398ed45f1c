import { existsSync, lstatSync, readdirSync, renameSync, rmSync, type Stats, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { crashPoint } from "../lib/crash-point.ts";
import { isDirectory, makeDirectory } from "../lib/files.ts";
import { err, ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { MODES, readerOf } from "../modes/index.ts";
import { failure, type Failure, fails, type Fallible } from "../protocol/failure.ts";
import { databasePath } from "../store/database.ts";
import { busy } from "../store/failures.ts";
import { type Lock, lockPath, takeLock } from "../store/lock.ts";
import { compact, copySessions, deleteSessions } from "../store/moving.ts";
import { openStore } from "../store/sqlite-store.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { writeIndex } from "./mailbox-folder.ts";
import { sessionPaths } from "./paths.ts";

// The trash of a home is its folder `trash/`. A session in it is a home of its own, `trash/<session>/`: its rows with those of its children, then
// their folders. What counts is whether the home's database has the rows: a process that dies on the way leaves a whole session on one side or the
// other, and the next one finishes (`settle`).

/** A session in the trash. */
export interface Trashed {
  readonly session_id: string;
  readonly home: string;
  /** When it was put there, in ms since 1970. */
  readonly at: number;
}

/** The sessions in the trash of a home, by id. */
export function trashOf(home: string): Trashed[] {
  const trash = trashFolder(home);
  const names = existsSync(trash) ? readdirSync(trash).filter((name) => !name.startsWith(".")) : [];
  return names.toSorted().flatMap((session_id) => {
    const inside = join(trash, session_id);
    const made = statSync(databasePath(inside), { throwIfNoEntry: false });
    return made ? [{ session_id, home: inside, at: made.mtimeMs }] : [];
  });
}

/** Whether a log folder of this name is only not yet in the trash, because a process died. */
export function isLeaving(home: string, session_id: string): boolean {
  return trashOf(home).some((one) => `${session_id}.`.startsWith(`${one.session_id}.`) && !isWhole(one));
}

/**
 * Moves a closed session with its children to the trash. Fails with `usage` for one that is not closed, is a child, or has a namesake there; `busy` for
 * one that a process holds.
 */
export function removeSession(home: string, store: Store, session_id: string): Fallible<void> {
  return withTrash(home, store, () => {
    const found = store.session(session_id);
    if (!found.ok) return found;
    const row = found.value;
    const rows = [...childrenOf(store, row), row];
    const locks: Lock[] = [];
    try {
      for (const one of rows) {
        const lock = takeLock(lockPath(home, one.session_id));
        if (!lock.ok) return lock;
        if (lock.value === null) return err(busy(one.session_id, store.holder(one.session_id)));
        locks.push(lock.value);
      }
      const refused = whyKept(home, store, rows);
      if (refused) return err(refused);
      const making = join(trashFolder(home), `.${session_id}`);
      const made = makeDatabase(making);
      if (!made.ok) return made;
      const ids = rows.map((one) => one.session_id);
      const copied = copySessions(home, making, ids);
      if (!copied.ok) return copied;
      renameSync(making, join(trashFolder(home), session_id));
      crashPoint("trash_copied");
      const deleted = deleteSessions(home, ids);
      if (!deleted.ok) return deleted;
      crashPoint("trash_rows");
      move(home, join(trashFolder(home), session_id), rows);
      return ok(undefined);
    } finally {
      for (const lock of locks) lock.release();
    }
  });
}

/** Moves a session back from the trash. */
export function restoreSession(home: string, store: Store, { session_id, home: inside }: Trashed): Fallible<void> {
  return withTrash(home, store, () => {
    const made = makeDatabase(inside);
    const rows = made.ok ? rowsIn(inside) : made;
    if (!rows.ok) return rows;
    const there = store.session(session_id);
    if (there.ok && there.value.session_id === session_id)
      return fails("busy", `This home has another session ${session_id}.`, { hint: `bosun rm ${session_id}` });
    move(home, inside, rows.value, true);
    crashPoint("trash_moved");
    const copied = copySessions(
      inside,
      home,
      rows.value.map((row) => row.session_id),
    );
    if (copied.ok) empty(inside);
    return copied;
  });
}

/** Deletes a session of the trash for good. */
export function purgeSession(home: string, store: Store, session_id: string): Fallible<void> {
  return withTrash(home, store, () => {
    for (const one of trashOf(home)) if (one.session_id === session_id) empty(one.home);
    return ok(undefined);
  });
}

/** Gives the space of what was removed back, unless a process works in the home. */
export function compactHome(home: string, store: Store): Fallible<void> {
  const isUsed = store.sessions().some(({ state, session_id }) => state !== "closed" && store.holder(session_id));
  return isUsed ? ok(undefined) : compact(home);
}

/** How many bytes a home, and of it the trash, takes on the disk. */
export function trashUse(home: string): { readonly home_bytes: number; readonly trash_bytes: number } {
  return { home_bytes: diskUse(home), trash_bytes: diskUse(trashFolder(home)) };
}

/** How many bytes a file, or a folder with all in it, takes on the disk. */
export function diskUse(path: string): number {
  const stat: Stats | undefined = lstatSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return (stat?.blocks ?? 0) * BLOCK;
  return readdirSync(path).reduce((sum, name) => sum + diskUse(join(path, name)), stat.blocks * BLOCK);
}

/** How many bytes the folders of a session take on the disk. */
export function sessionUse(home: string, row: SessionRow): number {
  return foldersOf(home, row).reduce((sum, folder) => sum + diskUse(folder), 0);
}

export function trashFolder(home: string): string {
  return join(home, "trash");
}

/** What `blocks` counts, on every system. */
const BLOCK = 512;

/** Runs work while no other process changes the trash, and after what one that died has left is finished. */
function withTrash(home: string, store: Store, work: () => Fallible<void>): Fallible<void> {
  return attempt(
    trashFolder(home),
    () => {
      const lock = takeLock(join(trashFolder(home), ".lock"));
      if (!lock.ok) return lock;
      if (lock.value === null)
        return fails("busy", `Another process is at the trash of ${home}.`, { hint: "Try again when it has ended." });
      try {
        const settled = settle(home, store);
        const worked = settled.ok ? work() : settled;
        for (const { reader } of MODES.values()) if (reader.mailbox) writeIndex(home, reader.mailbox);
        return worked;
      } finally {
        lock.value.release();
      }
    },
    "The trash",
  );
}

/** Finishes what a process that died has left: deletes what is not whole in the trash, or is still in the database, and moves the rest there. */
function settle(home: string, store: Store): Fallible<void> {
  const trash = trashFolder(home);
  for (const name of readdirSync(trash))
    if (name.startsWith(".") && isDirectory(join(trash, name))) rmSync(join(trash, name), { recursive: true });
  for (const one of trashOf(home).filter((found) => !isWhole(found))) {
    const row = store.session(one.session_id);
    if (row.ok && row.value.session_id === one.session_id) {
      empty(one.home);
      continue;
    }
    const rows = rowsIn(one.home);
    if (!rows.ok) return rows;
    move(home, one.home, rows.value);
  }
  return ok(undefined);
}

/** Whether all that a session has is in the trash: its own folder is moved there last, and back first. */
function isWhole({ session_id, home }: Trashed): boolean {
  return existsSync(sessionPaths(home, session_id).folder);
}

/** Why sessions, the last with its children, cannot be moved to the trash. */
function whyKept(home: string, store: Store, rows: readonly SessionRow[]): Failure | undefined {
  const last = rows.at(-1);
  if (last?.parent)
    return failure("usage", `${last.session_id} is part of ${last.parent}.`, { hint: `bosun rm ${last.parent}` });
  if (trashOf(home).some(({ session_id }) => session_id === last?.session_id))
    return failure("usage", `The trash has another session ${last?.session_id}.`, { hint: "bosun prune --purge" });
  for (const { session_id } of rows) {
    const now = store.session(session_id);
    if (!now.ok) return now.error;
    if (now.value.state === "closed") continue;
    const hint = `End it first: bosun cancel ${session_id}`;
    return failure("usage", `${session_id} is not closed: it is ${now.value.state}.`, { hint });
  }
  return undefined;
}

/** All sessions below one, deepest first. */
function childrenOf(store: Store, { session_id }: SessionRow): SessionRow[] {
  return store.sessions({ parent: session_id }).flatMap((child) => [...childrenOf(store, child), child]);
}

/** Makes the database of a home in the trash, or brings it to this version. */
function makeDatabase(home: string): Fallible<void> {
  const made = openStore(home, { accept: true });
  if (made.ok) made.value.close();
  return made.ok ? ok(undefined) : made;
}

/** The sessions in a home of the trash, the one that it is named after last. */
function rowsIn(home: string): Fallible<SessionRow[]> {
  const opened = openStore(home, { accept: true });
  if (!opened.ok) return opened;
  const rows = opened.value.sessions().toSorted((a, b) => b.session_id.length - a.session_id.length);
  opened.value.close();
  return ok(rows);
}

/** Moves the folders of sessions that are there into the trash, or `back`, each by rename. */
function move(home: string, trash: string, rows: readonly SessionRow[], back = false): void {
  const inside = rows.flatMap((row) => foldersOf(trash, row));
  const moves = rows.flatMap((row) => foldersOf(home, row)).map((folder, index) => [folder, inside[index] as string]);
  for (const [from = "", to = ""] of back ? moves.map((pair) => pair.toReversed()).toReversed() : moves) {
    if (!existsSync(from)) continue;
    makeDirectory(dirname(to));
    renameSync(from, to);
  }
}

/** The folders of a session, its own last. */
function foldersOf(home: string, { session_id, mode }: SessionRow): string[] {
  const { log, folder } = sessionPaths(home, session_id);
  const mailbox = readerOf(mode)?.mailbox?.folder;
  return [...(mailbox === undefined ? [] : [join(home, mailbox, session_id)]), log, folder];
}

/** Deletes a home of the trash. Its new name says that it is not whole. */
function empty(home: string): void {
  const hidden = join(dirname(home), `.${basename(home)}`);
  renameSync(home, hidden);
  crashPoint("trash_emptied");
  rmSync(hidden, { recursive: true });
}
