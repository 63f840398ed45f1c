import { existsSync, lstatSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory, OWN } from "../lib/files.ts";
import { err, ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { MODES } from "../modes/index.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { busy } from "../store/failures.ts";
import { lockPath, takeLock } from "../store/lock.ts";
import type { SessionRow, Store, StoreReader } from "../store/store.ts";
import { deleteSession, trashFile, type Trashed, trashOf } from "../store/trash.ts";
import { writeIndex } from "./mailbox-folder.ts";

/** Puts a closed session with its children into the trash. Fails with `usage`, or with `busy` for one that a process holds. */
export function removeSession(home: string, store: Store, { session_id, parent }: SessionRow): Fallible<void> {
  if (parent !== null) return fails("usage", `${session_id} is part of ${parent}.`, { hint: `bosun rm ${parent}` });
  const lock = takeLock(lockPath(home, session_id));
  if (!lock.ok) return lock;
  if (lock.value === null) return err(busy(session_id, store.holder(session_id)));
  try {
    const row = store.session(session_id);
    const open = [...below(store, session_id), ...(row.ok ? [row.value] : [])].find(({ state }) => state !== "closed");
    const hint = `End it first: bosun cancel ${open?.session_id}`;
    if (open) return fails("usage", `${open.session_id} is not closed: it is ${open.state}.`, { hint });
    return changing(home, () => {
      makeDirectory(join(home, "trash"));
      writeFileSync(trashFile(home, session_id), "", OWN);
    });
  } finally {
    lock.value.release();
  }
}

/** Takes a session out of the trash. */
export function restoreSession(home: string, { session_id, isGoing }: Trashed): Fallible<void> {
  if (!isGoing) return changing(home, () => rmSync(trashFile(home, session_id)));
  return fails("usage", `${session_id} is deleted already, but not wholly.`, { hint: "bosun prune --purge" });
}

/** Deletes a session of the trash for good. What a process that dies has left, the next call deletes. */
export function purgeSession(home: string, store: Store, { session_id, isGoing }: Trashed): Fallible<void> {
  return changing(home, () => {
    const going = trashFile(home, session_id, true);
    if (!isGoing) renameSync(trashFile(home, session_id), going);
    crashPoint("trash_going");
    const deleted = deleteSession(home, session_id);
    if (!deleted.ok) return deleted;
    crashPoint("trash_rows");
    const others = [...store.sessions(), ...trashOf(home)].map((one) => one.session_id);
    const known = new Set(others.filter((id) => id !== session_id));
    for (const folder of foldersOf(home, session_id, known)) rmSync(folder, { recursive: true });
    crashPoint("trash_folders");
    for (const { reader } of MODES.values()) if (reader.mailbox) writeIndex(home, reader.mailbox);
    rmSync(going);
    return ok(undefined);
  });
}

/** How many bytes a file, or a folder with all in it, takes on the disk. */
export function diskUse(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  const inside = stat?.isDirectory() ? readdirSync(path) : [];
  // Blocks are of 512 bytes on every system.
  return inside.reduce((sum, name) => sum + diskUse(join(path, name)), (stat?.blocks ?? 0) * 512);
}

/** How many bytes the folders of a session and of those below it take. */
export function sessionUse(home: string, session_id: string): number {
  return foldersOf(home, session_id).reduce((sum, folder) => sum + diskUse(folder), 0);
}

/** The folders of a session and of those below it, found by their names: its rows may be gone. Not those of `others`. */
function foldersOf(home: string, session_id: string, others: ReadonlySet<string> = new Set()): string[] {
  const mailboxes = Array.from(MODES.values(), ({ reader }) => reader.mailbox?.folder ?? []).flat();
  return ["logs", "sessions", ...mailboxes].flatMap((kind) =>
    (existsSync(join(home, kind)) ? readdirSync(join(home, kind)) : [])
      .filter((name) => `${name}.`.startsWith(`${session_id}.`) && !others.has(name))
      .map((name) => join(home, kind, name)),
  );
}

function below(store: StoreReader, session_id: string): SessionRow[] {
  return store.sessions({ parent: session_id }).flatMap((child) => [child, ...below(store, child.session_id)]);
}

function changing(home: string, change: () => Fallible<void> | void): Fallible<void> {
  return attempt(join(home, "trash"), () => change() ?? ok(undefined), "The trash");
}
