import type { Advance, Engine } from "../kernel/engine.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Change, SessionView } from "../kernel/mode.ts";
import { resolve } from "../kernel/references.ts";
import type { Presentation } from "../kernel/presentation.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { admitAll } from "./admission/admitting.ts";
import { Bus, type SessionEnd, type StopReason } from "./bus.ts";
import { type Held, InboxWatch } from "./inbox.ts";
import type { FactInput } from "./facts.ts";
import { GroupCommits } from "./group-commits.ts";
import { Journal, type JournalParts } from "./journal.ts";
import { Shutdown } from "./shutdown.ts";
import { Notifications, type NotificationsParts } from "./notifications.ts";
import { Intake } from "./intake.ts";
import { IdlePolicy } from "./idle-policy.ts";
import type { SteadyClock } from "./time/steady-clock.ts";
import { TimeWatch } from "./time/time-watch.ts";
import type { SessionDoor } from "./door.ts";
import { Workload, type WorkloadParts } from "./workload.ts";

/** Everything a session works with; put together by `assemble.ts`. */
export interface SessionParts<S> extends JournalParts, WorkloadParts, NotificationsParts {
  readonly engine: Engine<S>;
  readonly lease: Held;
  readonly clock: SteadyClock;
  readonly opened_at: Instant;
}

/**
 * One session at work, the only writer of it. Facts come in one by one and are decided at once in memory; what follows is
 * committed in groups, and only then does anything happen in the world: processes, files, words to a person. A commit that
 * fails ends the session here with everything before it intact.
 */
export class Session<S> {
  readonly bus = new Bus();
  readonly #parts: SessionParts<S>;
  readonly #work: Workload;
  readonly #intake: Intake<S>;
  readonly #inbox: InboxWatch;
  readonly #time: TimeWatch;
  readonly #resting: IdlePolicy;
  readonly #notifications: Notifications;
  readonly #journal: Journal;
  readonly #commits: GroupCommits;
  readonly #leaving: Shutdown;
  readonly #door: SessionDoor = {
    bus: this.bus,
    submit: (input) => this.submit(input),
    note: (note) => this.#intake.note(note),
    keep: (change) => this.keep(change),
    afterwards: (effect) => this.#journal.afterwards(effect),
    schedule: () => this.#commits.schedule(),
    stop: (reason, message, more) => this.stop(reason, message, more),
    fail: (failure) => this.#leaving.fail(failure),
    broken: (error) => this.#leaving.broken(error),
  };
  /** Before `run` what comes in is only put on record: nothing is begun, and nothing is concluded from silence. */
  #begun: number | undefined;
  #waitForPeople = true;

  constructor(parts: SessionParts<S>) {
    this.#parts = parts;
    this.#journal = new Journal(parts, this.bus);
    const door = this.#door;
    this.#commits = new GroupCommits(parts.clock, this.#journal, {
      ...door,
      prepare: () => this.#admit(),
      commit: () => this.#commit(),
      rest: () => this.#rest(),
    });
    this.#work = new Workload(parts, { ...door, wake: () => this.#onTimer() });
    this.#intake = new Intake(parts, this.#journal, this.#work, {
      ...door,
      isOver: () => this.#leaving.isOver,
      closed: (end) => this.#leaving.closed(end),
    });
    this.#time = new TimeWatch(parts, { ...door, shifted: () => this.#work.timers.again() });
    this.#resting = new IdlePolicy(parts, this.#work, door);
    this.#notifications = new Notifications(this, parts, door);
    this.#inbox = new InboxWatch(parts, {
      ...door,
      take: (input) => void this.submitFromPerson(input),
      looked: () => this.#work.children.hear(),
    });
    const going = {
      work: this.#work,
      notifications: this.#notifications,
      inbox: this.#inbox,
      time: this.#time,
      resting: this.#resting,
      commits: this.#commits,
      journal: this.#journal,
    };
    this.#leaving = new Shutdown(parts, going, door);
  }

  get session_id(): string {
    return this.#parts.session_id;
  }

  get ledger(): Ledger {
    return this.#parts.engine.ledger;
  }

  /** The sequence of the last record, committed or about to be. */
  get sequence(): number {
    return this.#journal.head.sequence;
  }

  /** How many agents run. */
  get running(): number {
    return this.#work.running;
  }

  /** How people are shown it. */
  get presentation(): Presentation {
    return this.#parts.engine.mode.presentation;
  }

  view(): SessionView {
    return this.#parts.engine.mode.view(this.#parts.engine.state);
  }

  /** A recorded text by reference, for those who show it. */
  resolve(value: JsonObject): JsonObject {
    return resolve(value, this.#parts.records) as JsonObject;
  }

  /**
   * Runs until the session closes or stops. With `waitForPeople` false it stops as `waiting` when only a person could move it.
   * Fails with `storage`, `storage_full` or `stale_lease` when it could not go on writing.
   */
  run(options: { readonly waitForPeople: boolean }): Promise<Result<SessionEnd, Failure>> {
    this.#waitForPeople = options.waitForPeople;
    if (this.#leaving.hasEnded) return this.#leaving.ended;
    this.#begun = this.#parts.clock.monotonic();
    const { closed } = this.ledger.figures;
    if (closed) this.#leaving.closed({ kind: "closed", ...closed });
    this.#inbox.start();
    if (!this.#leaving.hasEnded) this.#work.begin(options.waitForPeople);
    this.#time.start();
    this.#notifications.begin();
    this.#commits.schedule();
    return this.#leaving.ended;
  }

  /** Ends resumably: no new turns, running ones are ended and stay open for a later run. Told again, it changes nothing. */
  stop(reason: StopReason, message: string, more: JsonObject = {}): void {
    this.#leaving.stop(reason, message, more);
  }

  /** Takes a fact in: what follows from it is in the next commit. Gives what was decided, unless nothing can be put on record any more. */
  submit(input: FactInput): Advance | undefined {
    return this.#intake.submit(input);
  }

  /** A person's word, from whatever door: only what the mode lets people say, and only well-formed. */
  submitFromPerson(input: FactInput): Advance | undefined {
    return this.#intake.submitFromPerson(input);
  }

  /** Stores a value that is no fact; true when it is durable, false if it will never be. */
  keep(change: Change): Promise<boolean> {
    const kept = this.#journal.keep(change);
    this.#commits.schedule();
    return kept;
  }

  #commit(): Promise<Result<void, Failure>> {
    const { mode, state } = this.#parts.engine;
    const { paused, closed } = this.ledger.figures;
    return this.#journal.flush({
      state: paused && !closed ? "paused" : mode.phase(state),
      outcome: closed?.outcome ?? null,
    });
  }

  #admit(): void {
    const { paused, stopping, stopped, closed } = this.ledger.figures;
    if (this.#begun === undefined || this.#leaving.isSettled || paused || stopping || stopped || closed) return;
    const limit = admitAll(this.#parts, this.#work, this.#begun, this.#door);
    // What runs has been paid for: it comes to its end, and nothing new begins.
    if (limit && !this.#work.isUnderWay) this.stop("limit", limit.message, limit.details);
  }

  #onTimer(): void {
    // What is due can be told no more, and an alarm for it would ring again at once, for as long as agents take to end.
    if (this.#leaving.isOver) return;
    this.#time.look();
    crashPoint("timer_due");
    for (const due of this.#work.timers.due())
      this.submit({ source: "scheduler", payload_type: "timer_fired", payload: due });
    this.#work.timers.arm();
    this.#commits.schedule();
  }

  #rest(): void {
    if (this.#leaving.isSettled) this.#leaving.rest();
    else if (this.#begun !== undefined) this.#resting.look(this.#begun, this.#waitForPeople);
  }

  /**
   * Something threw. What the store could not read is a failure like any other; all else is a bug of our own, after which the session
   * ends with what is committed, and `run` rejects.
   */
  broken(error: unknown): void {
    this.#leaving.broken(error);
  }
}
