import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Result } from "../lib/result.ts";
import type { LogFolder } from "../log/writer.ts";
import type { Failure } from "../protocol/failure.ts";
import { StorageError } from "../store/storage-error.ts";
import type { Lease, Store } from "../store/store.ts";
import type { SessionEnd, StopReason } from "./bus.ts";
import type { GroupCommits } from "./group-commits.ts";
import type { InboxWatch } from "./inbox.ts";
import type { Journal } from "./journal.ts";
import type { Notifications } from "./notifications.ts";
import type { IdlePolicy } from "./idle-policy.ts";
import type { TimeWatch } from "./time/time-watch.ts";
import type { SessionDoor, TroubleDoor } from "./door.ts";
import type { Workload } from "./workload.ts";

interface LeavingParts {
  readonly store: Store;
  readonly lease: Lease;
  readonly log?: LogFolder | undefined;
}

/** Everything of a session that goes on by itself and has to end with it. */
export interface Going {
  readonly work: Workload;
  readonly notifications: Notifications;
  readonly inbox: InboxWatch;
  readonly time: TimeWatch;
  readonly resting: IdlePolicy;
  readonly commits: GroupCommits;
  readonly journal: Journal;
}

/**
 * How a session is left. It is settled first, once: it stops, to be resumed, or it has closed. It has ended when what ran is gone, and what
 * became of it is on record and told. A failure or a bug ends it at once instead, with what is committed.
 */
export class Shutdown implements TroubleDoor {
  readonly #parts: LeavingParts;
  readonly #going: Going;
  readonly #door: SessionDoor;
  readonly #ended = Promise.withResolvers<Result<SessionEnd, Failure>>();
  #settled: SessionEnd | undefined;
  /** The record that says so is on its way. */
  #parted = false;
  #over = false;

  constructor(parts: LeavingParts, going: Going, door: SessionDoor) {
    this.#parts = parts;
    this.#going = going;
    this.#door = door;
  }

  /** Rejects for a bug. */
  get ended(): Promise<Result<SessionEnd, Failure>> {
    return this.#ended.promise;
  }

  /** Whether nothing new may begin. */
  get isSettled(): boolean {
    return this.#over || this.#settled !== undefined;
  }

  /** Whether nothing can be put on record any more: what is said after the closing record, by agents that are being ended, neither. */
  get isOver(): boolean {
    return this.#over || this.#settled?.kind === "closed";
  }

  /** Whether nothing goes on any more, not even what is told of the end. */
  get hasEnded(): boolean {
    return this.#over;
  }

  /** Ends resumably: no new turns, running ones are ended and stay open for a later run. Told again, it changes nothing. */
  stop(reason: StopReason, message: string, more: JsonObject): void {
    if (this.isSettled) return;
    this.#settled = { kind: "stopped", reason, message };
    const { inbox, work } = this.#going;
    // What is put to the session from now on is for whoever resumes it.
    inbox.stop();
    this.#door.bus.emit({ kind: "stopping", reason, running: work.running });
    work.abortAll();
    crashPoint("stopping");
    void work.idle().then(() => {
      // An answer that came in meanwhile may have closed the session after all.
      if (this.#settled?.kind !== "stopped") return;
      this.#parted = true;
      this.#door.submit({
        source: "scheduler",
        payload_type: "session_stopped",
        payload: { reason, message, ...more },
      });
    });
  }

  /** The closing record is in the journal, or has been there from the start. */
  closed(end: SessionEnd): void {
    this.#settled = end;
    this.#parted = true;
  }

  /** Nothing is left to write: ends the session if it is settled how, and nothing is waited for. */
  rest(): void {
    const end = this.#settled;
    const { work, notifications } = this.#going;
    if (!end || !this.#parted || work.isBusy || notifications.isBusy) return;
    void this.#end(() => {
      this.#door.bus.emit({ kind: "ended", end });
      this.#ended.resolve({ ok: true, value: end });
    });
  }

  fail(trouble: Failure): void {
    if (this.#over) return;
    // Whatever a successor brings about here is only told as what it is.
    const mine = this.#parts.store.confirm(this.#parts.lease);
    const failure = mine.ok || mine.error.code !== "stale_lease" ? trouble : mine.error;
    this.#quit(() => this.#ended.resolve({ ok: false, error: failure }));
  }

  /** After a bug nobody knows how far memory is ahead of what is recorded: the session ends with what is committed. */
  broken(error: unknown): void {
    if (error instanceof StorageError) this.fail(error.failure);
    else if (this.#over) throw error;
    else this.#quit(() => this.#ended.reject(error));
  }

  /** Ends at once: what runs is ended, and what is not committed is not going to be. */
  #quit(settle: () => void): void {
    const { work, notifications } = this.#going;
    work.abortAll();
    notifications.abort();
    this.#writeNoMore();
    void Promise.all([work.idle(), notifications.idle()]).then(() => this.#end(settle));
  }

  async #end(settle: () => void): Promise<void> {
    this.#writeNoMore();
    const { work, time, resting, inbox } = this.#going;
    for (const one of [work.timers, time, resting, inbox]) one.stop();
    this.#parts.log?.close();
    crashPoint("ended");
    await this.#parts.store.release(this.#parts.lease);
    settle();
  }

  #writeNoMore(): void {
    this.#over = true;
    this.#going.commits.end();
    this.#going.journal.abandon();
  }
}
