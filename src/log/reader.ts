import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../lib/result.ts";
import { failure, type Failure } from "../protocol/failure.ts";
import { MAX_RECORD_BYTES } from "../protocol/limits.ts";

/** The file in a log folder that people follow with `tail -f`. */
export const EVENTS_FILE = "events.log";

/** Where a record's bytes stand before they get their name; a crash may leave it, and nobody reads it. */
export const PUBLISHING_FILE = ".publishing";

const RECORD_NAME = /^(\d{6,15})-([a-z_]{1,40})\.json$/;

/** A record's file, from its name alone. */
export interface RecordFile {
  readonly name: string;
  readonly sequence: number;
  readonly payload_type: string;
}

/** What a log folder holds, without having read a record. */
export interface Listing {
  /** In order of their sequences. */
  readonly files: readonly RecordFile[];
  /** Names that are neither records nor anything else the scheduler puts beside them. */
  readonly foreign: readonly string[];
}

/** `000042-report.json`; a sequence over 999,999 gets more digits. */
export function recordName(sequence: number, payload_type: string): string {
  return `${String(sequence).padStart(6, "0")}-${payload_type}.json`;
}

/** What a name says that is a record's; undefined for any other. */
export function recordFile(name: string): RecordFile | undefined {
  const [, digits, payload_type = ""] = RECORD_NAME.exec(name) ?? [];
  const sequence = Number(digits);
  return sequence > 0 && recordName(sequence, payload_type) === name ? { name, sequence, payload_type } : undefined;
}

/**
 * Lists a log folder. Directories are left out: agents' raw output stands in them. `not_found` if there is no such folder,
 * `storage` if it cannot be read.
 */
export function listFolder(directory: string): Result<Listing, Failure> {
  const files: RecordFile[] = [];
  const foreign: string[] = [];
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const record = entry.isFile() ? recordFile(entry.name) : undefined;
      if (record) {
        files.push(record);
      } else if (!entry.isDirectory() && entry.name !== EVENTS_FILE && entry.name !== PUBLISHING_FILE) {
        foreign.push(entry.name);
      }
    }
  } catch (error) {
    return err(unreadable(directory, error));
  }
  files.sort((a, b) => a.sequence - b.sequence || (a.name < b.name ? -1 : 1));
  return ok({ files, foreign: foreign.sort() });
}

/**
 * The records of a folder in order, each read when it is asked for, so that memory stays with the names. `bytes` are the file's
 * and not checked in any way, which is what `verifyFolder` is for; null if the file is gone, cannot be read, or is larger than any
 * record.
 */
export function* readFolder(
  directory: string,
  listing: Listing,
): IterableIterator<RecordFile & { bytes: Buffer | null }> {
  for (const file of listing.files)
    yield { ...file, bytes: readPlainFile(join(directory, file.name), MAX_RECORD_BYTES) };
}

/** The bytes of a plain file that has no more than so many; null for any other, since a pipe or a device would be read for ever. */
export function readPlainFile(path: string, max_bytes: number): Buffer | null {
  try {
    const about = statSync(path);
    return about.isFile() && about.size <= max_bytes ? readFileSync(path) : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}

function unreadable(directory: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined) throw error;
  if (code === "ENOENT")
    return failure("not_found", `There is no log folder ${directory}.`, { hint: "Name a folder below logs/." });
  return failure("storage", `The log folder ${directory} cannot be read (${code}).`, {
    hint: "Check that it is a directory and that you may read it.",
  });
}
