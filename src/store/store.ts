import type { Json, JsonObject } from "../lib/json.ts";
import type { Result } from "../lib/result.ts";
import type { Change, Outcome } from "../kernel/mode.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Actor, SealedRecord } from "../protocol/record.ts";
import type { Instant } from "../protocol/timestamp.ts";

/**
 * Where sessions live. `commit` is the only hot write, and everything above this interface works with one store on this
 * machine as with one that many machines share: so whatever writes is async, and every write of a session carries its lease.
 *
 * Failures that any call can give: `storage` (the disk or the database cannot be used; the message names the path and the
 * remedy) and `storage_full`. The others stand with the call that gives them. A read that gives no result throws these two as a
 * `StorageError`.
 */
export interface Store extends StoreReader {
  /** Makes the session known, without records. `busy` if the id is taken; `usage` if it cannot be a folder's name. */
  create(session: NewSession): Promise<Result<void, Failure>>;
  /**
   * Takes the session for the life of this process, or until `release`: a process that dies lets go of it by dying.
   * `busy` names the holder; `not_found` if there is no such session.
   */
  acquire(session_id: string, owner: Owner): Promise<Result<Lease, Failure>>;
  /** Lets go of the session. A lease that was taken over already is let go of without harm to its successor. */
  release(lease: Lease): Promise<void>;
  /**
   * Everything of the commit or nothing, durable on return. `stale_lease` if the session was taken over, or if its last
   * record is not `expected`; then nothing was written, and whoever called must not go on.
   */
  commit(lease: Lease, commit: Commit): Promise<Result<void, Failure>>;
  /**
   * `stale_lease` if the session was taken over. A process can be frozen after a commit for as long as it takes others to go on
   * without it, so it asks before it touches the world. Cheap enough to ask at every commit.
   */
  confirm(lease: Lease): Result<void, Failure>;
  readonly inbox: Inbox;
}

/** The looking half, safe to use from any process while the owner writes; it never waits for a writer. */
export interface StoreReader {
  /** Where all of it lies, for messages to people. */
  readonly place: string;
  /**
   * What `look` reads is all of one moment, whatever is committed meanwhile, where this only looks: who also writes could not commit before
   * the look is over.
   */
  moment<T>(look: () => Promise<T>): Promise<T>;
  /** The session and all its state, for starting again from it. `not_found`. */
  load(session_id: string): Promise<Result<StoredSession, Failure>>;
  /** The stored line of one record, with its line end. */
  record(session_id: string, sequence: number): string | undefined;
  /** What kind of envelope a record holds, without reading it: a record may be as large as a plan. */
  payloadType(session_id: string, sequence: number): string | undefined;
  /** The stored lines from `from` to `to` (inclusive; the last by default), in order. Throws a `StorageError` for one that is lost. */
  records(session_id: string, from: number, to?: number): IterableIterator<string>;
  /** The same range as `records`, with what a log file's name needs. */
  sealed(session_id: string, from: number, to?: number): IterableIterator<SealedRecord>;
  /** Newest first. */
  sessions(filter?: SessionFilter): SessionRow[];
  /** By whole id or by a prefix that only one session has. `not_found`, or `usage` naming the candidates. */
  session(id_or_prefix: string): Result<SessionRow, Failure>;
  /** Who holds the session now, asked of the lock itself: a dead process holds nothing. */
  holder(session_id: string): Holder | undefined;
  /** One value of a session's state. */
  value(session_id: string, collection: string, id: string): Json | undefined;
  /** In the order in which they were recorded. */
  artifacts(session_id: string): ArtifactRow[];
  readonly inbox: InboxReader;
  /**
   * A number that rises when another process commits or anything is put to an inbox: whoever polls keeps the last one and
   * looks again when it differs. Cheap enough to ask many times a second.
   */
  version(): number;
  close(): void;
}

export interface InboxReader {
  /** What waits for the session's owner, oldest first. */
  pending(session_id: string): InboxRow[];
}

/** What people and other processes put to a session; its owner takes rows by naming them in a commit. */
export interface Inbox extends InboxReader {
  /** Returns the row's id. `not_found` if there is no such session. */
  put(session_id: string, body: JsonObject, actor: Actor): Promise<Result<number, Failure>>;
}

/** Who may write a session: fenced by an epoch that rises with every take-over. */
export interface Lease {
  readonly session_id: string;
  readonly epoch: number;
}

/** The process that holds a session, in words that help a person to find it. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** When it took the session; not known before it is written down, a moment later. */
  readonly started_at?: Instant;
}

/** A holder as it is written down. */
export interface Owner extends Holder {
  readonly started_at: Instant;
}

/** One or many steps of one session, applied together. */
export interface Commit {
  /** The sequence of the session's last record before this commit; 0 if it has none. */
  readonly expected: number;
  /** Consecutive, from `expected` + 1. */
  readonly records: readonly SealedRecord[];
  /** Applied in order: the last change of an id wins. */
  readonly changes: readonly Change[];
  readonly session?: SessionChanges;
  readonly artifacts?: readonly ArtifactRow[];
  /** Ids of the inbox rows that this commit has turned into facts. */
  readonly taken?: readonly number[];
}

/** What a commit may change of the session's own row; a field that is absent stays as it is. */
export interface SessionChanges {
  readonly state?: string;
  readonly outcome?: Outcome | null;
  /** The last record that is known to be a file in the log folder. */
  readonly published?: number;
}

export interface NewSession {
  readonly session_id: string;
  readonly mode: string;
  readonly requirement?: string;
  /** The directory the session works in, absolute. */
  readonly workspace: string;
  /** The session that opened this one. */
  readonly parent?: string;
  readonly created_at: Instant;
}

export interface SessionRow {
  readonly session_id: string;
  readonly mode: string;
  /** `created` until the first commit that says otherwise. */
  readonly state: string;
  readonly outcome: Outcome | null;
  readonly requirement: string | null;
  readonly workspace: string;
  readonly parent: string | null;
  readonly created_at: Instant;
  /** When it was last committed to. */
  readonly updated_at: Instant;
  /** Sequence of the last record; 0 before the first. */
  readonly last_sequence: number;
  /** Hash of the last record; the genesis hash before the first. */
  readonly head: string;
  readonly published: number;
  readonly epoch: number;
}

export interface SessionFilter {
  /** Only sessions that this one opened; `null` for those that nobody opened. */
  readonly parent?: string | null;
}

export interface StoredSession {
  readonly session: SessionRow;
  /** Every value of the state, or of one collection, ordered by collection and id. */
  rows(collection?: string): IterableIterator<StateRow>;
}

export interface StateRow {
  readonly collection: string;
  readonly id: string;
  readonly value: Json;
}

/** A kept file: what it is, and the record that brought it. */
export interface ArtifactRow {
  readonly sequence: number;
  readonly subject?: string;
  readonly label: string;
  /** Where it came from, as the agent wrote it. */
  readonly uri: string;
  /** Where it is kept, relative to the home. */
  readonly path: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly size_bytes: number;
  readonly content_type?: string;
}

export interface InboxRow {
  readonly id: number;
  readonly body: JsonObject;
  readonly actor: Actor;
}
