import { existsSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Lookup, type Recorded, resolve, resolveWithin } from "../kernel/references.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory, OWN } from "../lib/files.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { type Listing, readPlainFile, recordIn, recordName } from "../log/reader.ts";
import { MAX_PAYLOAD_BYTES, MAX_RECORD_BYTES } from "../protocol/limits.ts";
import type { LogRecord, UnsealedRecord } from "../protocol/record.ts";

/** Maximum number of records in a generation of the cache. Records in neither generation are read from the store again. */
const GENERATION = 4096;

/** Maximum size of a generation, in bytes. */
const GENERATION_BYTES = 32 * 1024 * 1024;

/** A record, and the size of its line in bytes. */
export interface Kept {
  readonly record: Recorded;
  readonly bytes: number;
}

/** Types that no reference ever leads to. */
const UNREFERENCED: ReadonlySet<string> = new Set(["turn_request", "timer_fired", "final_report"]);

/** The records of a running session by sequence, for references. Recently used ones are in memory. */
export class SessionRecords implements Lookup {
  /** Records that are not committed yet. */
  readonly #unstored = new Map<number, Kept>();
  // Two generations instead of an LRU: keeping a map in order of use costs more than it saves.
  #young = new Map<number, Kept>();
  #youngBytes = 0;
  #old = new Map<number, Kept>();
  readonly #read: (sequence: number) => Kept;
  readonly #folder: string;
  /** Paths of files seen since the last commit: every turn request names the plan's file. */
  readonly #files = new Map<number, string>();

  constructor(read: (sequence: number) => Kept, folder: string) {
    this.#read = read;
    this.#folder = folder;
  }

  /** Adds a record before it is stored; `line` is its stored form. */
  add(sequence: number, record: UnsealedRecord, line: string): void {
    if (!UNREFERENCED.has(record.payload_type))
      this.#unstored.set(sequence, { record, bytes: Buffer.byteLength(line) });
  }

  /** Call when the records up to `last` are stored, so they may leave memory. */
  stored(last: number): void {
    for (const [sequence, kept] of this.#unstored) {
      if (sequence > last) break;
      this.#unstored.delete(sequence);
      this.#keep(sequence, kept);
    }
    this.#files.clear();
  }

  record(sequence: number): Recorded {
    return this.#find(sequence).record;
  }

  bytes(sequence: number): number {
    return this.#find(sequence).bytes;
  }

  #find(sequence: number): Kept {
    const kept = this.#unstored.get(sequence) ?? this.#young.get(sequence);
    if (kept) return kept;
    const found = this.#old.get(sequence) ?? this.#read(sequence);
    this.#keep(sequence, found);
    return found;
  }

  #keep(sequence: number, kept: Kept): void {
    if (this.#young.size >= GENERATION || this.#youngBytes >= GENERATION_BYTES) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(sequence, kept);
    this.#youngBytes += kept.bytes;
  }

  /** Writes the value atomically unless its file exists, and returns the path. For programs that need a file. */
  file(sequence: number, pointer: string): string {
    const known = this.#files.get(sequence);
    if (known !== undefined) return known;
    const payload_type = this.record(sequence).payload_type;
    const path = join(this.#folder, recordName(sequence, payload_type));
    if (!existsSync(path)) this.#write(path, resolve({ $from: [sequence, pointer] }, this) ?? null);
    this.#files.set(sequence, path);
    return path;
  }

  #write(path: string, value: Json): void {
    makeDirectory(this.#folder);
    writeFileSync(`${path}.tmp`, `${canonicalJson(value)}\n`, OWN);
    crashPoint("given_file_written");
    renameSync(`${path}.tmp`, path);
  }
}

/**
 * Resolves the references of the records in a log folder. A record stays as stored if its references lead to a missing or unreadable record,
 * or are not of the form that Bosun writes.
 */
export function resolverOf(folder: string, { files }: Listing): (record: LogRecord) => LogRecord {
  const names = new Map(files.map(({ sequence, name }) => [sequence, name]));
  const nameOf = (sequence: number) => {
    const name = names.get(sequence);
    if (name === undefined) throw new Error(`record ${sequence} is missing`);
    return name;
  };
  const records = new SessionRecords((sequence) => {
    const bytes = readPlainFile(join(folder, nameOf(sequence)), MAX_RECORD_BYTES);
    const record = recordIn(bytes);
    if (bytes === null || record === null) throw new Error(`record ${sequence} cannot be read`);
    return { record, bytes: bytes.length };
  }, folder);
  return (record) => {
    // Other types are stored resolved. Whatever looks like a reference in them is an agent's own value.
    if (record.payload_type !== "turn_request") return record;
    const { artifacts_dir } = record.payload;
    if (typeof artifacts_dir !== "string") return record;
    const lookup: Lookup = {
      record: (sequence) => records.record(sequence),
      bytes: (sequence) => records.bytes(sequence),
      file: (sequence) => join(dirname(dirname(artifacts_dir)), nameOf(sequence)),
    };
    try {
      const payload = resolveWithin(record.payload, lookup, MAX_PAYLOAD_BYTES) as JsonObject | undefined;
      return payload === undefined ? record : { ...record, payload };
    } catch {
      // The log is damaged or forged.
      return record;
    }
  };
}
