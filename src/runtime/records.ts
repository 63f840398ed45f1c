import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lookup, Recorded } from "../kernel/references.ts";
import { resolve } from "../kernel/references.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory } from "../lib/directory.ts";
import type { Json } from "../lib/json.ts";
import { recordName } from "../log/reader.ts";
import type { UnsealedRecord } from "../protocol/record.ts";

/** A generation of parsed records; what neither of the two generations has is read again from the store when it is asked for. */
const GENERATION = 4096;

/** It is over sooner if its records have so many bytes. */
const GENERATION_BYTES = 32 * 1024 * 1024;

/** A record, and how many bytes its line has. */
interface Kept {
  readonly record: Recorded;
  readonly bytes: number;
}

/** Records that no reference ever leads to. */
const UNREFERENCED: ReadonlySet<string> = new Set(["turn_request", "timer_fired", "final_report"]);

/** Where references lead while a session runs: records by sequence, the latest used ones in memory. */
export class SessionRecords implements Lookup {
  /** Those that the store does not have yet. */
  readonly #unstored = new Map<number, Kept>();
  // Two generations and no deleting: keeping a map in the order of use costs more than what it saves.
  #young = new Map<number, Kept>();
  #youngBytes = 0;
  #old = new Map<number, Kept>();
  readonly #read: (sequence: number) => Kept;
  readonly #folder: string;
  /** The files that were seen to be there since the last commit: every turn's request names the plan's. */
  readonly #files = new Map<number, string>();

  constructor(read: (sequence: number) => Kept, folder: string) {
    this.#read = read;
    this.#folder = folder;
  }

  /** A new record, known before it is stored; `line` is what will be. */
  add(sequence: number, record: UnsealedRecord, line: string): void {
    if (!UNREFERENCED.has(record.payload_type))
      this.#unstored.set(sequence, { record, bytes: Buffer.byteLength(line) });
  }

  /** What was added up to this sequence is stored now, and can be read again once it was let go of. */
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

  /** Writes the value once, as a whole or not at all, and gives the path: for programs that want the plan as a file. */
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
    writeFileSync(`${path}.tmp`, `${canonicalJson(value)}\n`);
    crashPoint("given_file_written");
    renameSync(`${path}.tmp`, path);
  }
}
