import type { Closed } from "../agents/isolation/role-sandbox.ts";
import type { Launcher } from "../agents/launcher.ts";
import type { Agent } from "../kernel/agent.ts";
import type { Advance } from "../kernel/engine.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Change, Mode } from "../kernel/mode.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Withholder } from "../lib/withholder.ts";
import type { LogFolder } from "../log/writer.ts";
import type { Failure } from "../protocol/failure.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import type { Role } from "../protocol/roles.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Lease, Store } from "../store/store.ts";
import type { Bus, StopReason } from "./bus.ts";
import type { RecordHashes } from "./checked-records.ts";
import type { Copies } from "./copies/copies.ts";
import type { FactInput } from "./facts.ts";
import type { SessionPaths } from "./paths.ts";
import type { MailboxFolder } from "./mailbox-folder.ts";
import type { Note } from "./recordings.ts";
import type { SessionRecords } from "./records.ts";
import type { TextFunctions } from "./text-functions.ts";
import type { SteadyClock } from "./time/steady-clock.ts";

/** A lease, with what its owner must know of the inbox. */
export interface SessionLease extends Lease {
  /** The last inbox row from before this lease; 0 for none. Ids only rise, while wall clocks can be set back. */
  readonly put_before: number;
  /** Whether this lease reopens a closed session. */
  readonly reopened?: boolean;
}

export interface SessionEnvironment {
  readonly session_id: string;
  readonly opened_at: Instant;
  readonly workspace: string;
  readonly config: ResolvedConfiguration;
  readonly roles: readonly Role[];
  readonly paths: SessionPaths;
  readonly records: SessionRecords;
  readonly hashes: RecordHashes;
  readonly store: Store;
  readonly lease: SessionLease;
  /** Absent in measurements without files. */
  readonly log: LogFolder | undefined;
  /** Absent in modes without one. */
  readonly mailbox: MailboxFolder | undefined;
  readonly clock: SteadyClock;
  readonly launcher: Launcher;
  readonly secrets: Withholder;
  readonly closed?: Closed | undefined;
  readonly agentFor: (role: Role) => Agent;
  readonly functions?: TextFunctions | undefined;
  /** Absent if agents work in the workspace itself. */
  readonly copies?: Copies | undefined;
}

/** What every part of a running session shares: its environment, and what a part may do to the session. */
export interface SessionContext extends SessionEnvironment {
  readonly mode: Pick<Mode<never>, "name" | "attached">;
  readonly ledger: Ledger;
  readonly bus: Bus;
  /** Decides a fact, and puts it into the next commit. Returns undefined once nothing more is recorded. */
  submit(input: FactInput): Advance | undefined;
  /** The same for a person's message, which must be well-formed and allowed by the mode. Returns why it was refused. */
  submitFromPerson(input: FactInput): Failure | undefined;
  /** The sequence of the next fact, for an id made from it. */
  nextSequence(): number;
  /** Records a message that moves nothing. */
  note(note: Note): void;
  /** Stores a value that is not a fact, such as a process. Resolves to true once durable, to false if it never will be. */
  keep(change: Change): Promise<boolean>;
  /** Runs an external effect once everything decided before it is durable. */
  afterCommit(effect: () => void): void;
  /** Requests a pass of the loop: there is something to write or to start, or something has ended. */
  schedule(): void;
  /** Ends the session resumably. Further calls change nothing. */
  stop(reason: StopReason, message: string, details?: JsonObject): void;
  /** Ends the session at once with an expected failure; it can be resumed. */
  fail(failure: Failure): void;
  /** Ends the session at once. A `StorageError` is a failure; other exceptions are bugs and reject `run`. */
  broken(error: unknown): void;
}
