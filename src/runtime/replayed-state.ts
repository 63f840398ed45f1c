import { writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { advance, type Engine } from "../kernel/engine.ts";
import { LEDGER_COLLECTIONS, RUNTIME_COLLECTIONS } from "../kernel/ledger.ts";
import type { Change, Mode } from "../kernel/mode.ts";
import { withArticle } from "../lib/article.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { OWN, textIn } from "../lib/files.ts";
import type { Json } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import type { LogRecord } from "../protocol/record.ts";
import { verificationFailed } from "../store/failures.ts";
import { keptRecord } from "../store/kept-record.ts";
import { catchStorage, StorageError } from "../store/storage-error.ts";
import type { SessionRow, StateRow, StoredSession, StoreReader } from "../store/store.ts";
import { checkRecords } from "./checked-records.ts";
import { sessionPaths } from "./paths.ts";
import { factIn } from "./replay.ts";
import { emptyEngine, hasRowsOf, rowsVersion, stateIn, type StoredState } from "./stored-state.ts";

/** The file beside a session's artifacts that says what its state was when it stopped: the hash of the last record, and of all rows. */
const LEFT_STATE = "state.sha256";

/** The state that the facts of a log lead to. */
export interface ReplayedState<S> {
  readonly engine: Engine<S>;
  /** Its rows, by collection and id, with the records that wrote them last. */
  readonly rows: ReadonlyMap<string, StateRow & { readonly sequence: number }>;
}

/** Replays the facts of a whole log; undefined if other rules made it. The records must have been checked. */
export function replayState<S>(mode: Mode<S>, lines: Iterable<string>): ReplayedState<S> | undefined {
  const engine: Engine<S> = emptyEngine(mode);
  const rows = new Map<string, StateRow & { readonly sequence: number }>();
  let sequence = 0;
  for (const line of lines) {
    const record = JSON.parse(line) as LogRecord;
    sequence += 1;
    if (sequence === 1 && (record.payload.mode !== mode.name || record.payload.rules !== mode.rules)) return undefined;
    const fact = factIn(sequence, record);
    for (const change of fact ? advance(engine, fact).changes : []) {
      const collection = "put" in change ? change.put : change.drop;
      const { id } = change;
      if ("put" in change) rows.set(keyOf(change.put, id), { collection, id, value: change.value, sequence });
      else rows.delete(keyOf(collection, id));
    }
  }
  return { engine, rows };
}

export function storing<S>(mode: Mode<S>, { rows }: Pick<ReplayedState<S>, "rows">): Change[] {
  const puts = Array.from(rows.values(), ({ collection, id, value }): Change => ({ put: collection, id, value }));
  return [...puts, rowsVersion(mode)];
}

/** The state that the records of a stored session lead to. Throws a `StorageError`, `environment`, if other rules made it. */
export function stateFromRecords<S>(
  store: StoreReader,
  { session_id, last_sequence }: SessionRow,
  mode: Mode<S>,
): StoredState<S> {
  const replayed = replayState(mode, store.records(session_id, 1, last_sequence));
  if (replayed === undefined) throw new StorageError(madeByOthers(store, session_id, mode));
  return replayed.engine;
}

/** Why a session cannot be read: neither its rows nor the rules that made it are of this version. */
export function madeByOthers<S>(store: StoreReader, session_id: string, { name, rules }: Mode<S>): Failure {
  const opened = keptRecord(store, session_id, 1).payload as unknown as PayloadByType["session_opened"];
  const begun = `version ${opened.version} began it under rules ${opened.rules} of ${withArticle(name)}`;
  const what = `The state of ${session_id} cannot be read: ${begun}, and this version has rules ${rules}.`;
  return failure("environment", what, { hint: "Use the version that began it." });
}

/**
 * Checks the records of a stored session and, unless a process is writing it, its state. Throws a `StorageError`, `verification_failed`, that
 * names the first difference.
 */
export async function checkSession(
  reader: StoreReader,
  row: SessionRow,
  mode: Mode<unknown> | undefined,
): Promise<void> {
  const { session_id } = row;
  checkRecords(reader, row, sessionPaths(dirname(reader.location), session_id).log);
  const stored = await reader.load(session_id);
  if (!stored.ok) throw new StorageError(stored.error);
  if (mode && row.last_sequence > 0 && reader.holder(session_id) === undefined)
    checkedState(reader, stored.value, mode);
}

/**
 * Leaves a digest of the stored state outside of the database, so that the next scheduler need not replay the log. Without it, or if it cannot be
 * written, the next one does.
 */
export async function leaveState(store: StoreReader, session_id: string): Promise<void> {
  await catchStorage(async () => {
    const stored = await store.load(session_id);
    if (!stored.ok) return stored;
    const digest = createHash("sha256");
    for (const _row of stored.value.rows(undefined, digest));
    const file = leftFile(store, session_id);
    return attempt(file, () => ok(writeFileSync(file, leftText(stored.value.session, digest.digest("hex")), OWN)));
  });
}

interface CheckedState<S> extends StoredState<S> {
  /** Replaces stored rows of an earlier version by those of the mode's. */
  readonly rewrite: readonly Change[];
}

/**
 * The state of a stored session, whose records have been checked. Throws a `StorageError`, `verification_failed`, if it is not what they lead to.
 * A session that other rules made is taken as it is stored; undefined if its rows have an earlier version too. Of rows of an earlier version only the
 * ledger's are compared. Throws like `hasRowsOf` too.
 */
export function checkedState<S>(store: StoreReader, stored: StoredSession, mode: Mode<S>): CheckedState<S> | undefined {
  const { session_id, last_sequence, head } = stored.session;
  const isCurrent = hasRowsOf(mode, store, session_id);
  const left = textIn(leftFile(store, session_id)) ?? "";
  if (isCurrent && left.startsWith(head)) {
    const digest = createHash("sha256");
    const rows = [...stored.rows(undefined, digest)];
    if (left === leftText(stored.session, digest.digest("hex")))
      return { ...stateIn({ rows: () => rows.values() }, mode), rewrite: [] };
  }
  const replayed = replayState(mode, store.records(session_id, 1, last_sequence));
  if (replayed === undefined) return isCurrent ? { ...stateIn(stored, mode), rewrite: [] } : undefined;
  const differs = (collection: string, id: string, sequence: number | null) => {
    const what = `the state of ${collection} ${id} is not what ${sequence === null ? "any record" : `record ${sequence}`} left`;
    return new StorageError(verificationFailed(store.location, session_id, what, sequence));
  };
  // What the runtime keeps for itself follows from no record.
  const isCompared = (collection: string) =>
    LEDGER_COLLECTIONS.has(collection) || (isCurrent && !RUNTIME_COLLECTIONS.has(collection));
  const missing = new Map(replayed.rows);
  for (const { collection, id, value } of stored.rows()) {
    if (!isCompared(collection)) continue;
    const row = missing.get(keyOf(collection, id));
    if (row === undefined || !same(value, row.value)) throw differs(collection, id, row?.sequence ?? null);
    missing.delete(keyOf(collection, id));
  }
  for (const { collection, id, sequence } of missing.values())
    if (isCompared(collection)) throw differs(collection, id, sequence);
  return { ...replayed.engine, rewrite: isCurrent ? [] : replacing(stored, mode, replayed) };
}

/** Replaces the stored rows that follow from records. */
function replacing<S>(stored: StoredSession, mode: Mode<S>, replayed: ReplayedState<S>): Change[] {
  const old = [...stored.rows()].filter(({ collection }) => !RUNTIME_COLLECTIONS.has(collection));
  return [...old.map(({ collection, id }): Change => ({ drop: collection, id })), ...storing(mode, replayed)];
}

/** Records have their members in canonical order, which values that were taken from an agent's message need not have. */
function same(stored: Json, replayed: Json): boolean {
  return JSON.stringify(stored) === JSON.stringify(replayed) || canonicalJson(stored) === canonicalJson(replayed);
}

function leftFile({ location }: Pick<StoreReader, "location">, session_id: string): string {
  return join(sessionPaths(dirname(location), session_id).folder, LEFT_STATE);
}

function leftText({ head }: SessionRow, digest: string): string {
  return `${head} ${digest}\n`;
}

function keyOf(collection: string, id: string): string {
  return `${collection}\0${id}`;
}
