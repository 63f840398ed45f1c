import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lookup, Recorded } from "../kernel/references.ts";
import { resolve } from "../kernel/references.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { makeDirectory } from "../lib/directory.ts";
import type { UnsealedRecord } from "../protocol/record.ts";

/** A generation of parsed records; what neither of the two generations has is read again from the store when it is asked for. */
const GENERATION = 4096;

/** Records that no reference ever leads to. */
const UNREFERENCED: ReadonlySet<string> = new Set(["turn_request", "timer_fired", "final_report"]);

/** Where references lead while a session runs: records by sequence, the latest used ones in memory. */
export class SessionRecords implements Lookup {
  // Two generations and no deleting: keeping a map in the order of use costs more than what it saves.
  #young = new Map<number, Recorded>();
  #old = new Map<number, Recorded>();
  readonly #read: (sequence: number) => Recorded;
  readonly #folder: string;

  constructor(read: (sequence: number) => Recorded, folder: string) {
    this.#read = read;
    this.#folder = folder;
  }

  /** A new record, known before it is stored. */
  add(sequence: number, record: UnsealedRecord): void {
    if (!UNREFERENCED.has(record.payload_type)) this.#young.set(sequence, record);
  }

  /** Lets go of what has long not been used; only safe for records that are stored, so it is called after a commit. */
  trim(): void {
    if (this.#young.size <= GENERATION) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  record(sequence: number): Recorded {
    const young = this.#young.get(sequence);
    if (young) return young;
    const found = this.#old.get(sequence) ?? this.#read(sequence);
    this.#young.set(sequence, found);
    return found;
  }

  /** Writes the value once, as a whole or not at all, and gives the path: for programs that want the plan as a file. */
  file(sequence: number, pointer: string): string {
    const payload_type = this.record(sequence).payload_type;
    const path = join(this.#folder, `${String(sequence).padStart(6, "0")}-${payload_type}.json`);
    if (existsSync(path)) return path;
    makeDirectory(this.#folder);
    writeFileSync(`${path}.tmp`, `${canonicalJson(resolve({ $from: [sequence, pointer] }, this) ?? null)}\n`);
    crashPoint("given_file_written");
    renameSync(`${path}.tmp`, path);
    return path;
  }
}
