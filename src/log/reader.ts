import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { MAX_RECORD_BYTES } from "../protocol/limits.ts";
import type { LogRecord } from "../protocol/record.ts";

/** The file of a log folder for `tail -f`. */
export const EVENTS_FILE = "events.log";

/** A record's file before it is renamed. A crash may leave it behind; it is never read. */
export const PUBLISHING_FILE = ".publishing";

const RECORD_NAME = /^(\d{6,15})-([a-z_]{1,40})\.json$/;

/** A record's file, as described by its name. */
export interface RecordFile {
  readonly name: string;
  readonly sequence: number;
  readonly payload_type: string;
}

/** The file names in a log folder. */
export interface Listing {
  /** Sorted by sequence. */
  readonly files: readonly RecordFile[];
  /** Names of files that do not belong in a log folder. */
  readonly foreign: readonly string[];
}

/** The name of a record's file, such as `000042-report.json`. Sequences over 999,999 get more digits. */
export function recordName(sequence: number, payload_type: string): string {
  return `${String(sequence).padStart(6, "0")}-${payload_type}.json`;
}

/** Parses a record file's name; undefined for any other name. */
export function recordFile(name: string): RecordFile | undefined {
  const [, digits, payload_type = ""] = RECORD_NAME.exec(name) ?? [];
  const sequence = Number(digits);
  return sequence > 0 && recordName(sequence, payload_type) === name ? { name, sequence, payload_type } : undefined;
}

/**
 * Lists the files of a log folder, without its directories, which hold agents' raw output. Fails with `not_found` if the folder does not
 * exist, with `storage` if it cannot be read.
 */
export function listFolder(directory: string): Fallible<Listing> {
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
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === "ENOENT") {
      return fails("not_found", `There is no log folder ${directory}.`, { hint: "Name a folder below logs/." });
    }
    return fails("storage", `The log folder ${directory} cannot be read (${code}).`, {
      hint: "Check that it is a directory and that you may read it.",
    });
  }
  files.sort((a, b) => a.sequence - b.sequence || (a.name < b.name ? -1 : 1));
  return ok({ files, foreign: foreign.sort() });
}

/**
 * Reads the records of a folder in order, one at a time. `bytes` are unchecked (`verifyFolder` checks them); null if the file is gone,
 * unreadable, or larger than any record.
 */
export function* readFolder(
  directory: string,
  listing: Listing,
): IterableIterator<RecordFile & { bytes: Buffer | null }> {
  for (const file of listing.files)
    yield { ...file, bytes: readPlainFile(join(directory, file.name), MAX_RECORD_BYTES) };
}

/** Reads a regular file of at most `max_bytes`; null for any other, since reading a pipe or a device may never end. */
export function readPlainFile(path: string, max_bytes: number): Buffer | null {
  try {
    const about = statSync(path);
    return about.isFile() && about.size <= max_bytes ? readFileSync(path) : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}

const TEXTS = ["session_id", "timestamp", "source", "target", "payload_type", "version"] as const;

/** The record in a file of the log; null if the file cannot be read, is not JSON or lacks a field that every record has. */
export function recordIn(bytes: Buffer | null): LogRecord | null {
  try {
    const value: unknown = bytes === null ? null : JSON.parse(bytes.toString("utf8"));
    return isLogRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Checks the fields that every record has, so that code can rely on them. Does not check the payload. */
function isLogRecord(value: unknown): value is LogRecord {
  if (!isJsonObject(value) || !TEXTS.every((key) => typeof value[key] === "string")) return false;
  const { payload, record, integrity } = value;
  if (!isJsonObject(payload) || !isJsonObject(record) || !isJsonObject(integrity)) return false;
  const { sequence, previous, hash } = integrity;
  if (typeof sequence !== "number" || typeof previous !== "string" || typeof hash !== "string") return false;
  return isMeta(record);
}

function isMeta({ kind, received_at, disposition, ticket_id, turn_id, effects }: JsonObject): boolean {
  if (typeof kind !== "string" || typeof disposition !== "string") return false;
  if (typeof received_at !== "string" || Number.isNaN(Date.parse(received_at))) return false;
  if (![ticket_id, turn_id].every((id) => id === undefined || typeof id === "string")) return false;
  return effects === undefined || (Array.isArray(effects) && effects.every(isEffect));
}

function isEffect(value: unknown): boolean {
  if (!isJsonObject(value) || typeof value.ticket_id !== "string" || typeof value.to !== "string") return false;
  return value.from === null || typeof value.from === "string";
}
