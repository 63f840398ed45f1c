import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessIdentity } from "../kernel/agent.ts";
import type { Fallible } from "../protocol/failure.ts";
import type { Exit } from "../protocol/record.ts";
import type { Sandbox } from "../protocol/roles.ts";
import type { SessionMarker } from "./process-marker.ts";

/**
 * Starts processes. It is an interface so that a small process can one day start others in place of the scheduler: a fork blocks the event loop in
 * proportion to the scheduler's memory.
 */
export interface Launcher {
  /** Starts a process as the leader of its own group. Fails with `environment`, naming the program and the remedy. */
  launch(spec: LaunchSpec): Promise<Fallible<Launched>>;
  /**
   * Ends what an earlier scheduler left running: the recorded processes and all others with the session's marker, within `grace_ms` and one second.
   * Returns those that are still alive.
   */
  endLeftovers(
    identities: readonly ProcessIdentity[],
    grace_ms: number,
    session?: SessionMarker,
  ): Promise<readonly ProcessIdentity[]>;
}

export interface LaunchSpec {
  /** The program, looked up in the `PATH` of `environment`, and its arguments. Runs without a shell. */
  readonly command: readonly string[];
  readonly directory: string;
  /** The whole environment; nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** The sandbox; without it the process only has its own group. */
  readonly isolation?: Isolation | undefined;
}

/** A sandbox level: see SPEC.md, "Sandboxes". */
export type SandboxLevel = Exclude<Sandbox, "none">;

export interface Isolation {
  readonly level: SandboxLevel;
  /** Whether a missing sandbox is a failure; otherwise the process starts without one. */
  readonly required: boolean;
  readonly paths?: SandboxPaths;
}

/** Absolute paths for the levels that restrict the file system; missing ones are ignored. */
export interface SandboxPaths {
  /** Paths the agent may change. */
  readonly writable: readonly string[];
  /** Paths it may not see. */
  readonly hidden: readonly string[];
  /** Parts of hidden paths that it may read. */
  readonly readable: readonly string[];
  /** Parts of writable paths that it may only read. */
  readonly unwritable: readonly string[];
}

/**
 * A running process. The caller must listen to its streams in the tick in which `launch` returns. Writing to a closed pipe (EPIPE) is
 * not an error.
 */
export interface Launched {
  readonly identity: ProcessIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the process has ended, even if others still hold its pipes. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Signals the group and the escaped processes that were found. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Whether any process of the group, or any escaped process that was found, can still work. */
  groupLives(): boolean;
  /** Searches for processes that have left the group. If none are `expected`, only if that is cheap. */
  findEscaped(expected: boolean): void;
  /** Closes the three pipes, even if a process outside the group still holds the other end. */
  destroyPipes(): void;
}

/** First and maximum pause between two polls of a process group that outlives its leader, in ms. */
const LOOK_AFTER_MS = 20;
const LONGEST_LOOK_MS = 1_000;

/** A launcher that can kill every process group that it started and that still exists. */
export function watchedLauncher(inner: Launcher): { launcher: Launcher; killAll: () => void } {
  const running = new Set<Launched>();
  return {
    launcher: {
      ...inner,
      async launch(spec) {
        const launched = await inner.launch(spec);
        if (!launched.ok) return launched;
        const { value } = launched;
        running.add(value);
        void value.exited.then(async () => {
          await groupGone(value);
          running.delete(value);
        });
        return launched;
      },
    },
    // The number of a vanished group may belong to another program by now.
    killAll: () => {
      for (const launched of running) if (launched.groupLives()) launched.signalGroup("SIGKILL");
    },
  };
}

/**
 * Polls until the group is gone; the turn's supervisor ends it. The first poll comes in a later turn of the event loop, because the process table is
 * read once per turn and may be older than the leader's last child.
 */
async function groupGone(launched: Launched): Promise<void> {
  let pause = LOOK_AFTER_MS;
  do {
    await delay(pause, undefined, { ref: false });
    pause = Math.min(pause * 2, LONGEST_LOOK_MS);
  } while (launched.groupLives());
}
