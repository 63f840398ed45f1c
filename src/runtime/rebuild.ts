import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Mode } from "../kernel/mode.ts";
import { defined } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { sealedIn } from "../log/chain.ts";
import { listFolder } from "../log/reader.ts";
import type { Fallible } from "../protocol/failure.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import type { LogRecord, SealedRecord } from "../protocol/record.ts";
import { backUp } from "../store/backup.ts";
import { databasePath } from "../store/database.ts";
import { busy } from "../store/failures.ts";
import { type Lock, lockPath, takeLock } from "../store/lock.ts";
import { isDatabaseDamaged, replaceDatabase, replaceSession } from "../store/rebuild.ts";
import { openReader } from "../store/sqlite-store.ts";
import { catchStorage } from "../store/storage-error.ts";
import type { ArtifactRow, Commit, NewSession } from "../store/store.ts";
import { mailboxFor, mailIn } from "./assemble.ts";
import { SessionRecords } from "./records.ts";
import { checkRecords } from "./checked-records.ts";
import { sessionPaths } from "./paths.ts";
import { verifySession } from "./proof.ts";
import { checkedState, replayState, storing } from "./replayed-state.ts";

type Modes = ReadonlyMap<string, Mode<unknown>>;

/** What became of each session: rebuilt, kept as it was, or left, because its folder proves nothing; and the copy of the old database, if any. */
export interface Rebuilt {
  readonly sessions: readonly {
    readonly session_id: string;
    readonly became: "rebuilt" | "kept" | { readonly left: string };
  }[];
  readonly old: string | undefined;
}

/**
 * Makes the rows of sessions anew from their log folders, unless the database has all of a folder, unchanged. A damaged database is replaced, once
 * the new one is complete, by one of `all` sessions; another one is copied before it is changed. `label` goes into the name of the old one. Fails
 * with `busy` for a session that a process holds.
 */
export async function rebuild(
  home: string,
  named: readonly string[],
  all: readonly string[],
  modes: Modes,
  label: string,
): Promise<Fallible<Rebuilt>> {
  const existed = existsSync(databasePath(home));
  const damaged = isDatabaseDamaged(home);
  if (!damaged.ok) return damaged;
  const target = damaged.value ? join(home, ".rebuild") : home;
  const locks: Lock[] = [];
  const sessions: Rebuilt["sessions"][number][] = [];
  let old: Fallible<string | undefined> = ok(undefined);
  try {
    for (const session_id of damaged.value ? all : named) {
      const lock = takeLock(lockPath(home, session_id));
      if (!lock.ok) return lock;
      if (lock.value === null) return err(busy(session_id, undefined));
      locks.push(lock.value);
    }
    if (damaged.value) rmSync(target, { recursive: true, force: true });
    for (const session_id of damaged.value ? all : named) {
      const read = readLog(home, session_id, modes);
      const mailed = typeof read === "string" ? ok(undefined) : read.writeMail();
      if (!mailed.ok) return mailed;
      const isKept = typeof read !== "string" && !damaged.value && (await holds(home, read));
      sessions.push({ session_id, became: typeof read === "string" ? { left: read } : isKept ? "kept" : "rebuilt" });
      if (typeof read === "string" || isKept) continue;
      if (existed && !damaged.value && old.ok && old.value === undefined) old = backUp(databasePath(home), label);
      const replaced = old.ok ? replaceSession(target, read.session, read.commit) : old;
      if (!replaced.ok) return replaced;
    }
    if (damaged.value && existsSync(target)) old = replaceDatabase(home, target, label);
    return old.ok ? ok({ sessions, old: old.value }) : old;
  } finally {
    for (const lock of locks) lock.release();
  }
}

interface ReadLog {
  readonly mode: Mode<unknown>;
  readonly session: NewSession;
  readonly commit: Commit;
  /** Writes all files of its mailbox again, if its mode has one. */
  readonly writeMail: () => Fallible<void>;
}

/** A session from its log folder, or why the folder does not prove it. */
function readLog(home: string, session_id: string, modes: Modes): ReadLog | string {
  const folder = sessionPaths(home, session_id).log;
  const proved = verifySession(folder, modes);
  const listing = listFolder(folder);
  if (!proved.ok || !listing.ok) return "it cannot be read";
  const [problem] = proved.value.problems;
  if (problem) return `${problem.sequence === null ? "" : `record ${problem.sequence}: `}${problem.what}`;
  if (proved.value.decisions !== "ok") return "its rules are those of another version, which can rebuild it";
  const records = listing.value.files.map(({ name }) => sealedIn(readFileSync(join(folder, name), "utf8")));
  const [first] = records;
  const opened = JSON.parse(first?.line ?? "") as LogRecord;
  const { mode: name, requirement, workspace, parent } = opened.payload as unknown as PayloadByType["session_opened"];
  const mode = modes.get(name);
  const lines = records.map(({ line }) => line);
  const replayed = mode && replayState(mode, lines);
  if (!replayed || !first || opened.session_id !== session_id) return `it is the log of ${opened.session_id}`;
  const { engine } = replayed;
  const { closed, paused } = engine.ledger.figures;
  const state = paused && !closed ? "paused" : mode.phase(engine.state);
  const session = { session_id, mode: name, workspace, created_at: opened.timestamp };
  const recordAt = (sequence: number) => JSON.parse(lines[sequence - 1] ?? "{}") as LogRecord;
  const kept = new SessionRecords(
    (sequence) => ({ record: recordAt(sequence), bytes: 0 }),
    sessionPaths(home, session_id).folder,
  );
  const mailbox = mailboxFor({ home }, { session_id, engine, opened_at: opened.timestamp }, kept);
  return {
    mode,
    writeMail: () => mailbox?.catchUp((from) => mailIn(lines.slice(from - 1), from), true) ?? ok(undefined),
    session: { ...session, ...defined({ requirement, parent: parent?.session_id }) },
    commit: {
      expected: 0,
      records,
      artifacts: records.flatMap(artifactIn),
      changes: storing(mode, replayed),
      session: { state, outcome: closed?.outcome ?? null, published: records.length },
    },
  };
}

/** The row of a kept file. Where the file came from is not in its record. */
function artifactIn({ sequence, payload_type, subject, line }: SealedRecord): ArtifactRow[] {
  if (payload_type !== "artifact_ref") return [];
  const { payload, record } = JSON.parse(line) as LogRecord;
  const { label, uri, digest = "", size_bytes = 0 } = payload as unknown as PayloadByType["artifact_ref"];
  const row = { sequence, label, uri, path: uri, digest, size_bytes, ...(subject === undefined ? {} : { subject }) };
  return record.disposition === "applied" ? [row] : [];
}

/** Whether the database has all records of the log, and is as they left it. */
async function holds(home: string, { mode, session: { session_id }, commit: { records } }: ReadLog): Promise<boolean> {
  const opened = openReader(home);
  if (!opened.ok) return false;
  const reader = opened.value;
  const checked = await catchStorage(async () => {
    const row = reader.session(session_id);
    if (!row.ok) return row;
    checkRecords(reader, row.value, sessionPaths(home, session_id).log);
    const stored = await reader.load(session_id);
    if (!stored.ok) return stored;
    checkedState(reader, stored.value, mode);
    return ok(reader.record(session_id, records.length) === records.at(-1)?.line);
  });
  reader.close();
  return checked.ok && checked.value;
}
