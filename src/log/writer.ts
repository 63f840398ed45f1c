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
import { join } from "node:path";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory } from "../lib/directory.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { failure, type Failure } from "../protocol/failure.ts";
import type { SealedRecord, UnsealedRecord } from "../protocol/record.ts";
import { eventLines, sequenceOfEventLine } from "./events.ts";
import { attempt } from "./attempt.ts";
import { EVENTS_FILE, PUBLISHING_FILE, recordFile, recordName } from "./reader.ts";

/** `events.log` is appended to in pieces of about this many characters, so that a long catching up stays in small memory. */
const PIECE = 64 * 1024;

/** How much of the end of `events.log` is read to find out where it stands, in bytes. */
const TAIL_BYTES = 64 * 1024;

/** What catching up found: how many files were not there, and how many a crash had torn. */
export interface CaughtUp {
  readonly missing: number;
  readonly torn: number;
}

/** A committed record; with what its line says where that is at hand, so that it is not parsed again. */
export interface CommittedRecord extends SealedRecord {
  readonly record?: UnsealedRecord;
}

type Placed = "written" | "there" | "mended";

/**
 * The one writer of a session's `logs/<session>/`. The folder is a copy of committed records, so nothing here is forced to the
 * disk: what a crash has not written, or has torn of the last step, `catchUp` writes again. Every call may fail with `storage` or `storage_full`, and with
 * `conflict` if a record's file is there already and says something else; that file is never touched.
 */
export class LogFolder {
  readonly directory: string;
  readonly #events: number;
  /** How long `events.log` is, as far as its one writer knows, in bytes. */
  #size: number;
  readonly #inode: number;
  /** The last record whose lines stand in `events.log`. */
  #told: number;
  /** The folder as this writer last left it: see `#stamp`. */
  #left: string | undefined;

  private constructor(directory: string, events: number) {
    this.directory = directory;
    this.#events = events;
    const { size, ino } = fstatSync(events);
    this.#size = size;
    this.#inode = ino;
    this.#told = standOf(events).sequence;
  }

  /** Makes the folder if need be. Whoever opens one closes it. */
  static open(directory: string): Result<LogFolder, Failure> {
    return attempt(directory, () => {
      makeDirectory(directory);
      return ok(new LogFolder(directory, openSync(join(directory, EVENTS_FILE), "a+")));
    });
  }

  /** Writes committed records, in order, each under its name at once or not at all, then their lines. Blocks meanwhile. */
  publish(records: Iterable<CommittedRecord>): Result<void, Failure> {
    return attempt(this.directory, () => {
      // A folder as it was left holds no later record, and to look for each takes a tenth as long as to make it.
      const isAsLeft = this.#left !== undefined && this.#left === this.#stamp();
      // Nobody would find what is written into a folder that was deleted or moved; and one made anew would lack what came before.
      const path = join(this.directory, EVENTS_FILE);
      if (!isAsLeft && statSync(path, { throwIfNoEntry: false })?.ino !== this.#inode) return err(gone(this.directory));
      const published = this.#publish(records, 1, isAsLeft);
      if (!published.ok) return published;
      this.#left = this.#stamp();
      return ok(undefined);
    });
  }

  /** Changes with every name that is put into the folder or taken out; for older kernels, at the next tick of their clock (4 ms). */
  #stamp(): string | undefined {
    const folder = statSync(this.directory, { throwIfNoEntry: false });
    return folder && `${folder.ino} ${folder.mtimeMs}`;
  }

  /**
   * Makes the folder whole again after a crash: files from record `from` on, and `events.log` from where it stands. `records`
   * gives the committed records from a sequence on. Of earlier records only files that are missing are written: what somebody changed
   * stays as it is, and is told by who verifies. A folder that an agent has put where records are written goes.
   */
  catchUp(from: number, records: (from: number) => Iterable<SealedRecord>): Result<CaughtUp, Failure> {
    return attempt(this.directory, () => {
      rmSync(join(this.directory, PUBLISHING_FILE), { force: true, recursive: true });
      // The lines of the last record told may be only some of its lines: they are written again with what is missing.
      const stand = standOf(this.#events);
      const [known] = stand.sequence === 0 ? [true] : records(stand.sequence);
      if (!known) return err(ahead(this.directory, stand.sequence));
      ftruncateSync(this.#events, stand.offset);
      this.#size = stand.offset;
      this.#told = Math.max(0, stand.sequence - 1);
      // Where the lines are gone, the files may be, too: somebody has deleted the folder.
      const filesFrom = stand.sequence === 0 ? 1 : from;
      const earlier = this.#placeMissing(filesFrom, records);
      if (!earlier.ok) return earlier;
      const caughtUp = this.#publish(records(Math.min(filesFrom, this.#told + 1)), filesFrom, false);
      return caughtUp.ok ? ok({ ...caughtUp.value, missing: caughtUp.value.missing + earlier.value }) : caughtUp;
    });
  }

  close(): void {
    closeSync(this.#events);
  }

  /**
   * Writes the records before `end` whose names are not there, and says how many. It looks at names alone, whatever they stand for: there may
   * be very many.
   */
  #placeMissing(end: number, records: (from: number) => Iterable<SealedRecord>): Result<number, Failure> {
    if (end === 1) return ok(0);
    const isThere = new Uint8Array(end);
    for (const name of readdirSync(this.directory)) isThere[recordFile(name)?.sequence ?? 0] = 1;
    let missing = 0;
    for (let sequence = isThere.indexOf(0, 1); sequence !== -1; sequence = isThere.indexOf(0, sequence + 1)) {
      const [record] = records(sequence);
      if (record === undefined) continue;
      const placed = this.#place(record, false);
      if (!placed.ok) return placed;
      missing += 1;
    }
    return ok(missing);
  }

  #publish(records: Iterable<CommittedRecord>, filesFrom: number, isAsLeft: boolean): Result<CaughtUp, Failure> {
    let missing = 0;
    let torn = 0;
    let lines = "";
    let told = this.#told;
    for (const record of records) {
      if (record.sequence >= filesFrom) {
        const placed = this.#place(record, isAsLeft && record.sequence > told);
        if (!placed.ok) return placed;
        if (placed.value === "written") missing += 1;
        if (placed.value === "mended") torn += 1;
      }
      if (record.sequence <= told) continue;
      lines += eventLines(record.sequence, record.record ?? (JSON.parse(record.line) as UnsealedRecord));
      told = record.sequence;
      if (lines.length < PIECE) continue;
      const saidSoFar = this.#tell(lines, told);
      if (!saidSoFar.ok) return saidSoFar;
      lines = "";
    }
    const said = this.#tell(lines, told);
    return said.ok ? ok({ missing, torn }) : said;
  }

  #tell(lines: string, through: number): Result<void, Failure> {
    const bytes = Buffer.from(lines);
    // Who was frozen while another took over must not tell again what that one has told.
    if (fstatSync(this.#events).size !== this.#size) return err(retold(join(this.directory, EVENTS_FILE)));
    if (bytes.length > 0) appendFileSync(this.#events, bytes);
    this.#size += bytes.length;
    crashPoint("events_appended");
    this.#told = through;
    return ok(undefined);
  }

  #place(record: SealedRecord, isNew: boolean): Result<Placed, Failure> {
    const path = join(this.directory, recordName(record.sequence, record.payload_type));
    const there = isNew ? undefined : statSync(path, { throwIfNoEntry: false });
    if (there) {
      const line = Buffer.from(record.line);
      // What is longer is not this record, and a pipe or a device would be read for ever.
      const found = there.isFile() && there.size <= line.length ? readFileSync(path) : null;
      if (found?.equals(line)) return ok("there");
      if (found === null || !isTorn(found, line)) return err(conflict(path));
    }
    const publishing = join(this.directory, PUBLISHING_FILE);
    writeFileSync(publishing, record.line);
    crashPoint("record_written");
    renameSync(publishing, path);
    crashPoint("record_renamed");
    return ok(there ? "mended" : "written");
  }
}

/** Cut short, or of blocks that were given to the file but never written: what a crash of the machine leaves of a file. */
function isTorn(found: Buffer, whole: Buffer): boolean {
  return found.equals(whole.subarray(0, found.length)) || found.every((byte) => byte === 0);
}

/** The last record that `events.log` tells of, and the byte at which its first line begins; both 0 if that cannot be seen. */
function standOf(events: number): { readonly sequence: number; readonly offset: number } {
  const { size } = fstatSync(events);
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
  readSync(events, tail, 0, tail.length, size - tail.length);
  let sequence = 0;
  let end = tail.lastIndexOf("\n") + 1;
  while (end > 0) {
    const start = end === 1 ? 0 : tail.lastIndexOf("\n", end - 2) + 1;
    // The window may begin inside a line, and what is left of one may look like another.
    if (start === 0 && size > TAIL_BYTES) break;
    const found = sequenceOfEventLine(tail.toString("utf8", start, end));
    if (sequence !== 0 && found !== sequence) return { sequence, offset: size - tail.length + end };
    if (found === undefined) break;
    sequence = found;
    end = start;
  }
  return size <= TAIL_BYTES && sequence !== 0 && end === 0 ? { sequence, offset: 0 } : { sequence: 0, offset: 0 };
}

function gone(directory: string): Failure {
  return failure("storage", `The log folder was deleted or moved while it was written: ${directory}.`, {
    hint: "Resume the session: the folder is written again from the database.",
  });
}

function ahead(directory: string, sequence: number): Failure {
  return failure(
    "conflict",
    `The database is of an earlier moment than the log: ${directory} tells of record ${sequence}, which the database does not have.`,
    {
      hint: "Put the newer database back. To go on from the earlier moment, move that folder away: it is written again from the database.",
    },
  );
}

function conflict(path: string): Failure {
  return failure("conflict", `The file ${path} is there already and is not the record that the database has.`, {
    hint: "Somebody changed the log. Move the file away and resume the session: it is written again, and the two can be compared.",
  });
}

function retold(path: string): Failure {
  return failure("conflict", `The file ${path} was changed by somebody else while it was written.`, {
    hint: "Write nothing to it, and resume the session: its lines are written again.",
  });
}
