import type { Hash } from "node:crypto";
import type { Json, JsonObject } from "../lib/json.ts";
import type { Change, Outcome } from "../kernel/mode.ts";
import type { Failure, Fallible } from "../protocol/failure.ts";
import type { Actor, SealedRecord } from "../protocol/record.ts";
import type { Instant } from "../protocol/timestamp.ts";

/**
 * Stores sessions. `commit` is the only hot write. Callers must work both with a store on this machine and with one that several machines
 * share, so every write is async, and every write of a session carries its lease.
 *
 * Tickets and their history have no writes of their own: both follow from the records, and a commit writes all three together. Written
 * separately, they would disagree with the log, which a replay proves.
 *
 * Any call can fail with `storage` (the disk or the database cannot be used; the message names the path and the remedy) and `storage_full`;
 * other failures are listed with their calls. Reads that do not return a `Result` throw a `StorageError`.
 */
export interface Store extends StoreReader {
  /** Adds a session without records. Fails with `busy` if the id exists, `usage` if it cannot be a folder name. */
  create(session: NewSession): Promise<Fallible<void>>;
  /** Holds the session until `release` or the end of this process. Fails with `busy`, naming the holder, or with `not_found`. */
  acquire(session_id: string, owner: Owner): Promise<Fallible<Lease>>;
  /** Releases the session. Releasing a lease that another process took over does not affect that process. */
  release(lease: Lease): Promise<void>;
  /**
   * Writes all of the commit or nothing; it is durable on return. Fails with `stale_lease` if the session was taken over or its last record is
   * not `expected`. Then nothing was written, and the caller MUST stop.
   */
  commit(lease: Lease, commit: Commit): Promise<Fallible<void>>;
  /**
   * Fails with `stale_lease` if the session was taken over. A process can be frozen after a commit while another takes its session over, so it
   * MUST call this before it acts on the world. Cheap enough for every commit.
   */
  confirm(lease: Lease): Fallible<void>;
  readonly inbox: Inbox;
}

/** The reading half of a store. Any process may read while the owner writes; a reader never waits for a writer. */
export interface StoreReader {
  readonly location: string;
  /**
   * Runs `read` on a snapshot: all its reads see one moment, whatever is committed meanwhile. Only connections for reading take a snapshot. On
   * a connection that writes, which could not commit until the snapshot ends, `read` runs without one.
   */
  snapshot<T>(read: () => Promise<T>): Promise<T>;
  /** Loads the session and all its state. Fails with `not_found`. */
  load(session_id: string): Promise<Fallible<StoredSession>>;
  /** The stored line of a record, with its line end. */
  record(session_id: string, sequence: number): string | undefined;
  /** The payload type of a record. Does not read the record, which may be as large as a plan. */
  payloadType(session_id: string, sequence: number): string | undefined;
  /** The stored lines of the newest records (at most 50) of some types, about a subject if one is named, newest first. */
  newest(session_id: string, types: readonly string[], subject?: string): string[];
  /** The stored lines from `from` to `to` (inclusive; by default the last), in order. Throws a `StorageError` for a lost record. */
  records(session_id: string, from: number, to?: number): IterableIterator<string>;
  /** The same range, with the fields needed to name the log files. */
  sealed(session_id: string, from: number, to?: number): IterableIterator<SealedRecord>;
  /** Lists sessions, newest first. */
  sessions(filter?: SessionFilter): SessionRow[];
  /** Finds a session by its id or a prefix that only one session has. Fails with `not_found`, or with `usage`, naming the candidates. */
  session(id_or_prefix: string): Fallible<SessionRow>;
  /** The process that holds the session's lock now. Dead processes hold none. */
  holder(session_id: string): Holder | undefined;
  /** One value of a session's state. */
  value(session_id: string, collection: string, id: string): Json | undefined;
  /** The session's artifacts, in the order of their records. */
  artifacts(session_id: string): ArtifactRow[];
  readonly inbox: InboxReader;
  /**
   * A number that rises when another process commits or anything is put into an inbox; poll it to know when to read again. Cheap enough to
   * call many times a second.
   */
  version(): number;
  close(): void;
}

export interface InboxReader {
  /** The rows that the session's owner has not taken yet, oldest first. */
  pending(session_id: string): InboxRow[];
}

/** Messages to a session from people and other processes. The owner takes rows by naming them in a commit. */
export interface Inbox extends InboxReader {
  /** Returns the row's id. Fails with `not_found` if there is no such session. */
  put(session_id: string, body: JsonObject, actor: Actor): Promise<Fallible<number>>;
  /** What became of a row; without fields if a process of an earlier version took it. Undefined while the row waits. */
  outcome(session_id: string, id: number): Partial<TakenRow> | undefined;
}

/** The right to write a session, fenced by an epoch that rises with every take-over. */
export interface Lease {
  readonly session_id: string;
  readonly epoch: number;
}

/** The process that holds a session. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** When it took the session. Unknown for the moment between taking the lock and recording the owner. */
  readonly started_at?: Instant;
}

export interface Owner extends Holder {
  readonly started_at: Instant;
}

/** One or more steps of one session, applied together. */
export interface Commit {
  /** The sequence of the session's last record before this commit; 0 if it has none. */
  readonly expected: number;
  /** Consecutive, from `expected` + 1. */
  readonly records: readonly SealedRecord[];
  /** Applied in order: the last change of an id wins. */
  readonly changes: readonly Change[];
  readonly session?: SessionChanges;
  readonly artifacts?: readonly ArtifactRow[];
  /** The inbox rows that this commit takes, with what became of each. */
  readonly taken?: readonly TakenRow[];
}

/** A commit's changes of the session's own row; absent fields stay unchanged. */
export interface SessionChanges {
  readonly state?: string;
  readonly outcome?: Outcome | null;
  /** The last record known to be in the log folder. */
  readonly published?: number;
}

export interface NewSession {
  readonly session_id: string;
  readonly mode: string;
  readonly requirement?: string;
  /** The directory the session works in, absolute. */
  readonly workspace: string;
  /** The id of the session that opened this one. */
  readonly parent?: string;
  readonly created_at: Instant;
}

export interface SessionRow {
  readonly session_id: string;
  readonly mode: string;
  /** `created` until a commit sets another state. */
  readonly state: string;
  readonly outcome: Outcome | null;
  readonly requirement: string | null;
  readonly workspace: string;
  readonly parent: string | null;
  readonly created_at: Instant;
  /** The time of the last commit. */
  readonly updated_at: Instant;
  /** Sequence of the last record; 0 before the first. */
  readonly last_sequence: number;
  /** Hash of the last record; the genesis hash before the first. */
  readonly head: string;
  readonly published: number;
  readonly epoch: number;
}

export interface SessionFilter {
  /** Only sessions with this parent; `null` for sessions without one. */
  readonly parent?: string | null;
}

export interface StoredSession {
  readonly session: SessionRow;
  /** All values of the state, or of one collection, ordered by collection and id. `digest` takes in what follows from records, as it is stored. */
  rows(collection?: string, digest?: Pick<Hash, "update">): IterableIterator<StateRow>;
}

export interface StateRow {
  readonly collection: string;
  readonly id: string;
  readonly value: Json;
}

/** A kept file and the record that references it. */
export interface ArtifactRow {
  readonly sequence: number;
  readonly subject?: string;
  readonly label: string;
  /** Its origin, as the agent wrote it. */
  readonly uri: string;
  /** Relative to the home. */
  readonly path: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly size_bytes: number;
  readonly content_type?: string;
}

/** What became of an inbox row. */
export interface TakenRow {
  readonly id: number;
  /** The record that its message turned into; for a message that no record holds, the one of its refusal. */
  readonly sequence: number;
  readonly refusal?: Failure;
}

export interface InboxRow {
  readonly id: number;
  readonly body: JsonObject;
  readonly actor: Actor;
}
