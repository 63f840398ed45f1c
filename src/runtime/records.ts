import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Lookup, Recorded } from "../kernel/references.ts";
import { resolve } from "../kernel/references.ts";
import { canonicalJson } from "../lib/canonical.ts";
import type { UnsealedRecord } from "../protocol/record.ts";

/** Parsed records kept in memory; older ones are read again from the store when a reference leads there. */
const KEPT = 8192;

/** Records that no reference ever leads to. */
const UNREFERENCED: ReadonlySet<string> = new Set(["turn_request", "timer_fired", "final_report"]);

/** Where references lead while a session runs: records by sequence, the latest used ones in memory. */
export class SessionRecords implements Lookup {
  readonly #kept = new Map<number, Recorded>();
  readonly #read: (sequence: number) => string | undefined;
  readonly #folder: string;
  readonly #written = new Set<string>();

  constructor(read: (sequence: number) => string | undefined, folder: string) {
    this.#read = read;
    this.#folder = folder;
  }

  /** A new record, known before it is stored. */
  add(sequence: number, record: UnsealedRecord): void {
    if (!UNREFERENCED.has(record.payload_type)) this.#kept.set(sequence, record);
  }

  /** Lets go of what was used longest ago; only safe for records that are stored, so it is called after a commit. */
  trim(): void {
    for (const sequence of this.#kept.keys()) {
      if (this.#kept.size <= KEPT) return;
      this.#kept.delete(sequence);
    }
  }

  record(sequence: number): Recorded {
    const kept = this.#kept.get(sequence);
    if (kept) {
      this.#kept.delete(sequence);
      this.#kept.set(sequence, kept);
      return kept;
    }
    const line = this.#read(sequence);
    if (line === undefined) throw new Error(`record ${sequence} is referred to, but is not in the store`);
    const parsed = JSON.parse(line) as Recorded;
    this.#kept.set(sequence, parsed);
    return parsed;
  }

  /** Writes the value once, as a whole or not at all, and gives the path: for programs that want the plan as a file. */
  file(sequence: number, pointer: string): string {
    const payload_type = this.record(sequence).payload_type;
    const path = join(this.#folder, `${String(sequence).padStart(6, "0")}-${payload_type}.json`);
    if (this.#written.has(path)) return path;
    this.#written.add(path);
    if (existsSync(path)) return path;
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(`${path}.tmp`, `${canonicalJson(resolve({ $from: [sequence, pointer] }, this) ?? null)}\n`);
    renameSync(`${path}.tmp`, path);
    return path;
  }
}
