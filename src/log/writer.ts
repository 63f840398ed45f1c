import {
  appendFileSync,
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory, OWN } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { SealedRecord, UnsealedRecord } from "../protocol/record.ts";
import { eventLines, sequenceOfEventLine } from "./events.ts";
import { attempt } from "./attempt.ts";
import { EVENTS_FILE, PUBLISHING_FILE, recordFile, recordName } from "./reader.ts";

/** `events.log` is written in chunks of about this many characters, so that `catchUp` needs little memory. */
const CHUNK = 64 * 1024;

/** Number of bytes read at the end of `events.log` to find its last record. */
const TAIL_BYTES = 64 * 1024;

/** Number of record files that `catchUp` found missing, and torn by a crash. */
export interface CaughtUp {
  readonly missing: number;
  readonly torn: number;
}

/** A committed record, with its parsed line if the caller has it. */
export interface CommittedRecord extends SealedRecord {
  readonly record?: UnsealedRecord;
}

type FileState = "written" | "existed" | "mended";

/**
 * The only writer of a session's `logs/<session>/`. The folder is a copy of committed records, so nothing is synced to disk: `catchUp`
 * rewrites what a crash lost or tore. Every call may fail with `storage` or `storage_full`, and with `conflict` if a record's file exists with
 * different content; that file is never touched.
 */
export class LogFolder {
  readonly directory: string;
  readonly #events: number;
  /** The length of `events.log` as this writer left it, in bytes. */
  #size: number;
  readonly #inode: number;
  /** The last record whose lines are in `events.log`. */
  #lastEvent: number;
  /** The folder as this writer left it: see `#stamp`. */
  #leftAs: string | undefined;

  private constructor(directory: string, events: number) {
    this.directory = directory;
    this.#events = events;
    const { size, ino } = fstatSync(events);
    this.#size = size;
    this.#inode = ino;
    this.#lastEvent = lastEventOf(events).sequence;
  }

  /** Makes the folder if it is missing. The caller closes it. */
  static open(directory: string): Fallible<LogFolder> {
    return attempt(directory, () => {
      makeDirectory(directory);
      return ok(new LogFolder(directory, openSync(join(directory, EVENTS_FILE), "a+", OWN.mode)));
    });
  }

  /** Writes committed records in order, each file whole or not at all, then their event lines. Blocks meanwhile. */
  publish(records: Iterable<CommittedRecord>): Fallible<void> {
    return attempt(this.directory, () => {
      // An unchanged folder has no later record. Skipping the check of each file saves a tenth of the time.
      const isUnchanged = this.#leftAs !== undefined && this.#leftAs === this.#stamp();
      // Files written into a deleted or moved folder would be lost, and a new folder would lack the earlier records.
      const path = join(this.directory, EVENTS_FILE);
      if (!isUnchanged && statSync(path, { throwIfNoEntry: false })?.ino !== this.#inode) {
        return fails("storage", `The log folder was deleted or moved while the session ran: ${this.directory}.`, {
          hint: "Resume the session: the folder is written again from the database.",
        });
      }
      const published = this.#publish(records, 1, isUnchanged);
      if (!published.ok) return published;
      this.#leftAs = this.#stamp();
      return ok(undefined);
    });
  }

  /** Changes whenever a name is added or removed; on older kernels at the next clock tick (4 ms). */
  #stamp(): string | undefined {
    const folder = statSync(this.directory, { throwIfNoEntry: false });
    return folder && `${folder.ino} ${folder.mtimeMs}`;
  }

  /**
   * Completes the folder after a crash: the files from record `from` on, and `events.log` from its last record. `records` returns the
   * committed records from a sequence on. Of earlier records, only missing files are written: a changed file is left for verification to find.
   * A directory that an agent made under the temporary file's name is removed.
   */
  catchUp(from: number, records: (from: number) => Iterable<SealedRecord>): Fallible<CaughtUp> {
    return attempt(this.directory, () => {
      rmSync(join(this.directory, PUBLISHING_FILE), { force: true, recursive: true });
      // The last record in `events.log` may lack some of its lines, so all of them are rewritten.
      const last = lastEventOf(this.#events);
      const [known] = last.sequence === 0 ? [true] : records(last.sequence);
      if (!known) {
        const what = `has record ${last.sequence}, which the database does not have`;
        return fails("conflict", `The database is older than the log: ${this.directory} ${what}.`, {
          hint: `To add what it lacks from the log: bosun rebuild ${basename(this.directory)}`,
        });
      }
      ftruncateSync(this.#events, last.offset);
      this.#size = last.offset;
      this.#lastEvent = Math.max(0, last.sequence - 1);
      // Without lines, the folder and its files may have been deleted.
      const filesFrom = last.sequence === 0 ? 1 : from;
      const earlier = this.#writeMissing(filesFrom, records);
      if (!earlier.ok) return earlier;
      const caughtUp = this.#publish(records(Math.min(filesFrom, this.#lastEvent + 1)), filesFrom, false);
      return caughtUp.ok ? ok({ ...caughtUp.value, missing: caughtUp.value.missing + earlier.value }) : caughtUp;
    });
  }

  close(): void {
    closeSync(this.#events);
  }

  /** Writes the missing files of the records before `end`, and returns how many there were. Checks only names, since there may be very many. */
  #writeMissing(end: number, records: (from: number) => Iterable<SealedRecord>): Fallible<number> {
    if (end === 1) return ok(0);
    const exists = new Uint8Array(end);
    for (const name of readdirSync(this.directory)) exists[recordFile(name)?.sequence ?? 0] = 1;
    let missing = 0;
    for (let sequence = exists.indexOf(0, 1); sequence !== -1; sequence = exists.indexOf(0, sequence + 1)) {
      const [record] = records(sequence);
      if (record === undefined) continue;
      const file = this.#writeFile(record, false);
      if (!file.ok) return file;
      missing += 1;
    }
    return ok(missing);
  }

  #publish(records: Iterable<CommittedRecord>, filesFrom: number, isUnchanged: boolean): Fallible<CaughtUp> {
    let missing = 0;
    let torn = 0;
    let lines = "";
    let last = this.#lastEvent;
    for (const record of records) {
      if (record.sequence >= filesFrom) {
        const file = this.#writeFile(record, isUnchanged && record.sequence > last);
        if (!file.ok) return file;
        if (file.value === "written") missing += 1;
        if (file.value === "mended") torn += 1;
      }
      if (record.sequence <= last) continue;
      lines += eventLines(record.sequence, record.record ?? (JSON.parse(record.line) as UnsealedRecord));
      last = record.sequence;
      if (lines.length < CHUNK) continue;
      const appended = this.#appendEvents(lines, last);
      if (!appended.ok) return appended;
      lines = "";
    }
    const appended = this.#appendEvents(lines, last);
    return appended.ok ? ok({ missing, torn }) : appended;
  }

  #appendEvents(lines: string, through: number): Fallible<void> {
    const bytes = Buffer.from(lines);
    // A process that was frozen during a take-over must not append the same lines again.
    if (fstatSync(this.#events).size !== this.#size) {
      const path = join(this.directory, EVENTS_FILE);
      return fails("conflict", `The file ${path} was changed by another process while the session ran.`, {
        hint: "Do not write to it. Resume the session: its lines are written again.",
      });
    }
    if (bytes.length > 0) appendFileSync(this.#events, bytes);
    this.#size += bytes.length;
    crashPoint("events_appended");
    this.#lastEvent = through;
    return ok(undefined);
  }

  #writeFile(record: SealedRecord, isNew: boolean): Fallible<FileState> {
    const path = join(this.directory, recordName(record.sequence, record.payload_type));
    const existing = isNew ? undefined : statSync(path, { throwIfNoEntry: false });
    if (existing) {
      const line = Buffer.from(record.line);
      // A longer file is not this record, and reading a pipe or a device may never end.
      const found = existing.isFile() && existing.size <= line.length ? readFileSync(path) : null;
      if (found?.equals(line)) return ok("existed");
      if (found === null || !isTorn(found, line)) {
        return fails("conflict", `The file ${path} exists and differs from the record in the database.`, {
          hint: "The log was changed. Move the file away and resume the session: the record is written again, and you can compare the two.",
        });
      }
    }
    const publishing = join(this.directory, PUBLISHING_FILE);
    writeFileSync(publishing, record.line, OWN);
    crashPoint("record_written");
    renameSync(publishing, path);
    crashPoint("record_renamed");
    return ok(existing ? "mended" : "written");
  }
}

/** What a machine crash leaves of a file: its beginning, or blocks of zeros that were allocated but never written. */
function isTorn(found: Buffer, whole: Buffer): boolean {
  return found.equals(whole.subarray(0, found.length)) || found.every((byte) => byte === 0);
}

/** The last record in `events.log` and the offset of its first line; both 0 if unknown. */
function lastEventOf(events: number): { readonly sequence: number; readonly offset: number } {
  const { size } = fstatSync(events);
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
  readSync(events, tail, 0, tail.length, size - tail.length);
  let sequence = 0;
  let end = tail.lastIndexOf("\n") + 1;
  while (end > 0) {
    const start = end === 1 ? 0 : tail.lastIndexOf("\n", end - 2) + 1;
    // The tail may begin inside a line whose rest looks like a whole line.
    if (start === 0 && size > TAIL_BYTES) break;
    const found = sequenceOfEventLine(tail.toString("utf8", start, end));
    if (sequence !== 0 && found !== sequence) return { sequence, offset: size - tail.length + end };
    if (found === undefined) break;
    sequence = found;
    end = start;
  }
  return size <= TAIL_BYTES && sequence !== 0 && end === 0 ? { sequence, offset: 0 } : { sequence: 0, offset: 0 };
}
