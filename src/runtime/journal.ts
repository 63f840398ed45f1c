import type { Change } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { seal } from "../log/chain.ts";
import type { Head } from "../log/verify.ts";
import type { Fallible } from "../protocol/failure.ts";
import { recordFault } from "../protocol/record-check.ts";
import type { SealedRecord, UnsealedRecord } from "../protocol/record.ts";
import type { ArtifactRow, SessionChanges, TakenRow } from "../store/store.ts";
import type { SessionContext } from "./context.ts";

interface Group {
  readonly expected: number;
  readonly records: (SealedRecord & { readonly record: UnsealedRecord })[];
  readonly changes: Change[];
  readonly artifacts: ArtifactRow[];
  readonly taken: TakenRow[];
  readonly afterCommit: (() => void)[];
}

/**
 * What a session has decided but not yet made durable. Everything since the last flush is one transaction. After it the log files are written,
 * then the effects run in the order in which they were added.
 */
export class Journal {
  readonly #context: SessionContext;
  readonly #unkept = new Set<(durable: boolean) => void>();
  #head: Head;
  #group: Group;
  #abandoned = false;

  /** `head` is the last stored record. */
  constructor(context: SessionContext, head: Head) {
    this.#context = context;
    this.#head = head;
    this.#group = newGroup(head.sequence);
  }

  get head(): Head {
    return this.#head;
  }

  get isEmpty(): boolean {
    return this.#group.records.length === 0 && this.#group.changes.length === 0;
  }

  /**
   * Seals a record now, not at the flush, because references to its bytes are measured before that. Throws for one that does not match the
   * schema of records, which is a bug.
   */
  record(record: UnsealedRecord): void {
    const sequence = this.#head.sequence + 1;
    // Payloads from agents and people have been checked on arrival.
    const fault = recordFault(record, record.source === "scheduler" ? "all" : "header");
    if (fault !== undefined) {
      throw new Error(
        `Record ${sequence}, ${record.payload_type}, does not fit schemas/record.schema.json at ${fault}`,
      );
    }
    const sealed = seal(record, { sequence, previous: this.#head.hash });
    this.#head = { sequence, hash: sealed.hash };
    this.#context.hashes.accept(sequence, sealed.hash);
    this.#context.records.add(sequence, record, sealed.line);
    this.#group.records.push({ ...sealed, record });
  }

  changes(changes: readonly Change[]): void {
    for (const change of changes) this.#group.changes.push(change);
  }

  artifact(artifact: ArtifactRow): void {
    this.#group.artifacts.push(artifact);
  }

  /** Marks an inbox row as taken by this group. */
  tookInboxRow(row: TakenRow): void {
    this.#group.taken.push(row);
  }

  /** Stores a value that is not a fact. Resolves like `durable`. */
  keep(change: Change): Promise<boolean> {
    if (!this.#abandoned) this.#group.changes.push(change);
    return this.durable();
  }

  /** Resolves to true once everything decided so far is durable, to false if it never will be. */
  durable(): Promise<boolean> {
    if (this.#abandoned) return Promise.resolve(false);
    const kept = Promise.withResolvers<boolean>();
    this.#unkept.add(kept.resolve);
    this.afterCommit(() => {
      this.#unkept.delete(kept.resolve);
      kept.resolve(true);
    });
    return kept.promise;
  }

  /** Settles every promise of `durable`: nothing more becomes durable. */
  abandon(): void {
    this.#abandoned = true;
    for (const never of this.#unkept) never(false);
  }

  /** Runs an external effect once everything before it is durable. */
  afterCommit(effect: () => void): void {
    this.#group.afterCommit.push(effect);
  }

  /**
   * Commits the group, publishes its files and runs its effects. Fails with `storage`, `storage_full` or `stale_lease`; then none of its
   * effects has run.
   */
  async flush(session: SessionChanges): Promise<Fallible<void>> {
    const { store, lease, records, log, mailbox, bus } = this.#context;
    const group = this.#group;
    this.#group = newGroup(this.#head.sequence);
    const { expected, changes, artifacts, taken } = group;
    // Now, since the state may be ahead of the group once that is committed.
    const mail = mailbox?.prepare(
      group.records.map(({ record, sequence }) => ({ ...record, sequence })),
      changes,
    );
    const committed = await store.commit(lease, {
      expected,
      records: group.records,
      changes,
      artifacts,
      taken,
      // All earlier groups are published, each right after its commit.
      session: log ? { ...session, published: expected } : session,
    });
    if (!committed.ok) return committed;
    records.stored(expected + group.records.length);
    // A process that was frozen here may wake up beside a successor that has already done the rest.
    const beforeFiles = store.confirm(lease);
    if (!beforeFiles.ok) return beforeFiles;
    if (log && group.records.length > 0) {
      const published = log.publish(group.records);
      if (!published.ok) return published;
    }
    if (mailbox && mail) {
      const beforeMail = store.confirm(lease);
      if (!beforeMail.ok) return beforeMail;
      const mailed = mailbox.publish(mail);
      if (!mailed.ok) return mailed;
    }
    crashPoint("after_publish");
    const beforeEffects = store.confirm(lease);
    if (!beforeEffects.ok) return beforeEffects;
    for (const effect of group.afterCommit) effect();
    crashPoint("after_effects");
    for (const { sequence, record } of group.records) bus.emit({ kind: "record", sequence, record });
    return committed;
  }
}

function newGroup(expected: number): Group {
  return { expected, records: [], changes: [], artifacts: [], taken: [], afterCommit: [] };
}
