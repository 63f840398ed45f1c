import type { Change } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { Result } from "../lib/result.ts";
import { seal } from "../log/chain.ts";
import type { Head } from "../log/verify.ts";
import type { LogFolder } from "../log/writer.ts";
import type { Failure } from "../protocol/failure.ts";
import type { SealedRecord, UnsealedRecord } from "../protocol/record.ts";
import type { ArtifactRow, Lease, SessionChanges, Store } from "../store/store.ts";
import type { Bus } from "./bus.ts";
import type { SessionRecords } from "./records.ts";

interface Group {
  readonly expected: number;
  readonly records: (SealedRecord & { readonly record: UnsealedRecord })[];
  readonly changes: Change[];
  readonly artifacts: ArtifactRow[];
  readonly taken: number[];
  readonly afterwards: (() => void)[];
}

export interface JournalParts {
  readonly store: Store;
  readonly lease: Lease;
  readonly records: SessionRecords;
  /** Absent where nobody wants files: measurements. */
  readonly log?: LogFolder | undefined;
  /** The last record that is stored: where the chain goes on. */
  readonly head: Head;
}

/**
 * What a session has decided and not yet made durable. Everything put in since the last flush is one transaction; then the log
 * files are written, then whatever waits for durability is done, in the order in which it was put in.
 */
export class Journal {
  readonly #parts: JournalParts;
  readonly #bus: Bus;
  readonly #unkept = new Set<(durable: boolean) => void>();
  #head: Head;
  #group: Group;
  #abandoned = false;

  constructor(parts: JournalParts, bus: Bus) {
    this.#parts = parts;
    this.#bus = bus;
    this.#head = parts.head;
    this.#group = newGroup(parts.head.sequence);
  }

  get head(): Head {
    return this.#head;
  }

  get isEmpty(): boolean {
    return this.#group.records.length === 0 && this.#group.changes.length === 0;
  }

  /** Gives a record its place and bytes. */
  record(record: UnsealedRecord): void {
    const sequence = this.#head.sequence + 1;
    const sealed = seal(record, { sequence, previous: this.#head.hash });
    this.#head = { sequence, hash: sealed.hash };
    this.#parts.records.add(sequence, record, sealed.line);
    this.#group.records.push({ ...sealed, record });
  }

  changes(changes: readonly Change[]): void {
    for (const change of changes) this.#group.changes.push(change);
  }

  artifact(artifact: ArtifactRow): void {
    this.#group.artifacts.push(artifact);
  }

  /** The inbox row has become a fact of this group. */
  took(inbox_id: number): void {
    this.#group.taken.push(inbox_id);
  }

  /** Stores a value that is no fact; comes back with true when it is durable, false if it will never be. */
  keep(change: Change): Promise<boolean> {
    if (this.#abandoned) return Promise.resolve(false);
    const kept = Promise.withResolvers<boolean>();
    this.#unkept.add(kept.resolve);
    this.#group.changes.push(change);
    this.afterwards(() => {
      this.#unkept.delete(kept.resolve);
      kept.resolve(true);
    });
    return kept.promise;
  }

  /** Nothing more will be durable: whoever waits for it is told. */
  abandon(): void {
    this.#abandoned = true;
    for (const never of this.#unkept) never(false);
  }

  /** Something that touches the world: done when all that was put in before it is durable. */
  afterwards(effect: () => void): void {
    this.#group.afterwards.push(effect);
  }

  /**
   * Commits what there is, and does what waited for it. Fails with `storage`, `storage_full` or `stale_lease`; then nothing of the
   * group touched the world.
   */
  async flush(session: SessionChanges): Promise<Result<void, Failure>> {
    const { store, lease, records, log } = this.#parts;
    const group = this.#group;
    this.#group = newGroup(this.#head.sequence);
    const { expected, changes, artifacts, taken } = group;
    const committed = await store.commit(lease, {
      expected,
      records: group.records,
      changes,
      artifacts,
      taken,
      // Every group before this one is published: publishing comes right after its commit.
      session: log ? { ...session, published: expected } : session,
    });
    if (!committed.ok) return committed;
    records.stored(expected + group.records.length);
    // Who was frozen here may wake up beside a successor, who has done all of the following already.
    const beforeFiles = store.confirm(lease);
    if (!beforeFiles.ok) return beforeFiles;
    if (log && group.records.length > 0) {
      const published = log.publish(group.records);
      if (!published.ok) return published;
    }
    crashPoint("after_publish");
    const beforeEffects = store.confirm(lease);
    if (!beforeEffects.ok) return beforeEffects;
    for (const effect of group.afterwards) effect();
    crashPoint("after_effects");
    for (const { sequence, record } of group.records) this.#bus.emit({ kind: "record", sequence, record });
    return committed;
  }
}

function newGroup(expected: number): Group {
  return { expected, records: [], changes: [], artifacts: [], taken: [], afterwards: [] };
}
