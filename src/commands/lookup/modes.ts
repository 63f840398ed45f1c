import { join } from "node:path";
import { type Listing, listFolder, readFolder, readPlainFile, recordIn } from "../../log/reader.ts";
import { MAX_RECORD_BYTES } from "../../protocol/limits.ts";
import { type Json, textOf } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { resolve } from "../../kernel/references.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import type { Retell } from "../../runtime/retelling.ts";
import { hasRowsOf, stateIn, type StoredState } from "../../runtime/stored-state.ts";
import { keptRecord } from "../../store/kept-record.ts";
import { recordAt } from "./state.ts";
import { loadMode, readerOf } from "../../modes/index.ts";
import type { Mode, ModeReader } from "../../kernel/mode.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow, StateRow, StoredSession, StoreReader } from "../../store/store.ts";

/** The state and the ledger of a stored session's engine, with the reader of its mode. Fails with `environment` for a mode that this version does not have. Throws like `stateOf`. */
export async function engineOf(reader: StoreReader, { session_id, mode: name }: SessionRow) {
  const mode = readerOf(name);
  if (mode === undefined) return err(unknownMode({ session_id, mode: name }));
  const stored = await reader.load(session_id);
  return stored.ok ? ok({ mode, row: stored.value.session, ...(await stateOf(reader, stored.value, mode)) }) : stored;
}

/**
 * The state of a stored session, made from its records if its rows have an earlier version. Only then are rules loaded. Throws a `StorageError`:
 * `newer_database` for rows of a later version, `environment` for rows of an earlier version if other rules made them.
 */
export async function stateOf<S>(
  reader: StoreReader,
  stored: StoredSession,
  mode: ModeReader<S>,
): Promise<StoredState<S>> {
  if (hasRowsOf(mode, reader, stored.session.session_id)) return stateIn(stored, mode);
  const { stateFromRecords } = await import("../../runtime/replayed-state.ts");
  return stateFromRecords(reader, stored.session, (await loadMode(mode.name)) as Mode<S>);
}

/** Whether a session has a subject with this id; false for a mode that this version does not have. */
export function hasSubject(reader: StoreReader, { session_id, mode }: SessionRow, id: string): boolean {
  const subjects = readerOf(mode)?.subjects;
  return subjects !== undefined && reader.value(session_id, subjects, id) !== undefined;
}

/** The subjects of a stored session; none for a mode that this version does not have. */
export function subjectsIn(stored: StoredSession): Iterable<StateRow> {
  const subjects = readerOf(stored.session.mode)?.subjects;
  return subjects === undefined ? [] : stored.rows(subjects);
}

export function subjectWord({ mode }: Pick<SessionRow, "mode">): string {
  return readerOf(mode)?.presentation.subjectName ?? "subject";
}

/** A subject at the beginning of a sentence: `Ticket build of s-k3m9pa`. */
export function named(row: Pick<SessionRow, "mode" | "session_id">, id: string): string {
  const word = subjectWord(row);
  return `${word.charAt(0).toUpperCase()}${word.slice(1)} ${id} of ${row.session_id}`;
}

/** How to read the records of a stored session, of this version or of an earlier one. Throws a `StorageError`. */
export async function retellingOf(reader: StoreReader, session_id: string): Promise<Retell> {
  const first = recordAt(reader, session_id, 1);
  return retold(first, (sequence) => keptRecord(reader, session_id, sequence));
}

/** How to read the records of a log folder. */
export async function retellingOfFolder(folder: string, { files }: Listing): Promise<Retell> {
  const names = new Map(files.map(({ sequence, name }) => [sequence, name]));
  const read = (sequence: number) => recordIn(readPlainFile(join(folder, names.get(sequence) ?? ""), MAX_RECORD_BYTES));
  return retold(read(1) ?? undefined, (sequence) => {
    const record = read(sequence);
    if (record === null) throw new Error(`record ${sequence} cannot be read`);
    return record;
  });
}

/** The session of a whole log in its mode's own words; undefined if the mode has none, or other rules made the log. */
export async function projectionIn(folder: string, name: string): Promise<Json | undefined> {
  if (readerOf(name)?.projection === undefined) return undefined;
  const [listing, mode] = [listFolder(folder), await loadMode(name)];
  if (!listing.ok || mode === undefined) return undefined;
  const lines = Array.from(readFolder(folder, listing.value), ({ bytes }) => String(bytes));
  const { replayState } = await import("../../runtime/replayed-state.ts");
  const replayed = replayState(mode, lines);
  const projected = replayed && mode.projection?.(replayed.engine.state);
  const read = (sequence: number) => JSON.parse(lines[sequence - 1] ?? "") as LogRecord;
  return projected && resolve(projected, { record: read, bytes: () => 0, file: () => "" });
}

/** How to read the records of any log; `first` is its first record. The rules are loaded only for a log of an earlier version. */
async function retold(first: UnsealedRecord | undefined, read: (sequence: number) => UnsealedRecord): Promise<Retell> {
  if (first === undefined || first.record.state !== undefined) return (_, record) => record;
  const { retelling } = await import("../../runtime/retelling.ts");
  return retelling(first, await loadMode(textOf(first.payload.mode)), read);
}

export function unknownMode({ session_id, mode }: Pick<SessionRow, "session_id" | "mode">): Failure {
  return failure("environment", `The mode of ${session_id}, ${mode}, is unknown to this version.`, {
    hint: "Use the version that began it, or a newer one.",
  });
}
