import type { Readable, Writable } from "node:stream";
import type { ProcessIdentity } from "../kernel/agent.ts";
import type { Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Exit } from "../protocol/record.ts";
import type { Sandbox } from "../protocol/roles.ts";
import type { SessionMark } from "./mark.ts";

/**
 * Starts processes. Node forks, which blocks the event loop in proportion to the scheduler's memory, so starting is behind
 * this seam: a small process that starts others can take over.
 */
export interface Launcher {
  /** Starts one process as the leader of its own group. `environment` failures name the program and the remedy. */
  launch(spec: LaunchSpec): Promise<Result<Launched, Failure>>;
  /**
   * Ends what an earlier scheduler started and left running, the recorded processes and whatever else bears the session's mark,
   * within `grace_ms` and one second. Gives what is still alive.
   */
  endLeftovers(
    identities: readonly ProcessIdentity[],
    grace_ms: number,
    session?: SessionMark,
  ): Promise<readonly ProcessIdentity[]>;
}

export interface LaunchSpec {
  /** The program, looked up in the `PATH` of `environment`, and its arguments. No shell reads them. */
  readonly command: readonly string[];
  readonly directory: string;
  /** All of it: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the process is kept from; without it, it has a group of its own and nothing else. */
  readonly isolation?: Isolation;
}

/** A level that keeps an agent from something; what each keeps from it is in SPEC.md, "Sandboxes". */
export type Level = Exclude<Sandbox, "none">;

/** How one process is kept apart. */
export interface Isolation {
  readonly level: Level;
  /** Whether not having it is a failure; else the process is started without. */
  readonly required: boolean;
  readonly places?: Places;
}

/** Absolute paths, for the levels that keep the file system; those that are not there are left out. */
export interface Places {
  /** What the agent may change, whatever is around it. */
  readonly writable: readonly string[];
  /** What it may not even see. */
  readonly hidden: readonly string[];
  /** Parts of what is hidden that it may read. */
  readonly shown: readonly string[];
}

/**
 * A running process. Its streams flow as soon as someone listens, and must be listened to in the tick that `launch` returns in.
 * A pipe whose other end is closed (EPIPE) is no error to anybody.
 */
export interface Launched {
  readonly identity: ProcessIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the process itself has ended, whoever still holds its pipes. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Sends to the whole group, if there is anybody left, and to the strays that were found. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Whether anything in the group could still work, the process itself or what it started, or any stray that was found. */
  groupLives(): boolean;
  /** Looks for what has left the group; with a reason to expect some at any cost, else only where that is cheap. */
  seekStrays(expected: boolean): void;
  /** Lets go of the three pipes, even if a process outside the group still holds the other end. */
  destroyPipes(): void;
}
