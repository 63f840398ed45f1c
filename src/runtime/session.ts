import { type Advance, advance, type Engine, stateOf } from "../kernel/engine.ts";
import type { Ledger } from "../kernel/ledger.ts";
import type { Change, Command, Fact } from "../kernel/mode.ts";
import type { Presentation } from "../kernel/presentation.ts";
import { resolve } from "../kernel/references.ts";
import { type SessionState, standingState } from "../kernel/state.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { defined, type Json, type JsonObject } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import type { Head } from "../log/verify.ts";
import type { Failure, Fallible } from "../protocol/failure.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { StorageError } from "../store/storage-error.ts";
import { Bus, type SessionEnd, type StopReason } from "./bus.ts";
import type { TakeChild } from "./children/child.ts";
import { checkAgain } from "./checked-records.ts";
import { leaveState } from "./replayed-state.ts";
import { recordClose } from "./closing.ts";
import type { SessionContext, SessionEnvironment } from "./context.ts";
import { type FactInput, fromPerson, isPause, stopAsked } from "./facts.ts";
import { IdlePolicy } from "./idle-policy.ts";
import { InboxWatch } from "./inbox.ts";
import { Journal } from "./journal.ts";
import { type HookCalls, hookCommands } from "./hooks.ts";
import { type NotificationHook, Notifications, type SentNotification } from "./notifications.ts";
import { decidedRecord, factFrom, factRecord, type Note, noteRecord } from "./recordings.ts";
import { withheldFrom } from "./secrets.ts";
import { markOf } from "./time/session-time.ts";
import { TimeWatch } from "./time/timers.ts";
import { Workload } from "./workload.ts";

/** What `assemble` makes a session from: its environment and its current state. */
export interface SessionSetup<S> extends SessionEnvironment {
  readonly engine: Engine<S>;
  /** The last stored record, which the hash chain continues. */
  readonly head: Head;
  readonly takeChild: TakeChild;
  readonly notify: NotificationHook | undefined;
  /** Notifications sent by earlier schedulers, by key. */
  readonly sent: ReadonlyMap<string, SentNotification>;
}

/**
 * A running session, the only writer of its records. The class reads from top to bottom: it takes input in and decides it in memory; commits a
 * group of decisions, publishes it and runs its effects; rests when nothing is left to do; and finally leaves. A failed commit ends the
 * session and leaves earlier commits intact.
 */
export class Session<S> {
  readonly session_id: string;
  readonly engine: Engine<S>;
  readonly ledger: Ledger;
  readonly presentation: Presentation;
  readonly bus = new Bus();
  readonly #context: SessionContext;
  readonly #journal: Journal;
  readonly #workload: Workload;
  readonly #inbox: InboxWatch;
  readonly #time: TimeWatch;
  readonly #idle: IdlePolicy;
  readonly #notifications: Notifications;
  readonly #hooks: HookCalls | undefined;
  readonly #working: readonly Pick<HookCalls, "isBusy" | "idle">[];
  /** The reading of the monotonic clock when `run` was called. Until then input is recorded, but nothing starts or ends. */
  #began: number | undefined;
  #waitForPeople = true;
  #pass: "none" | "scheduled" | "flushing" = "none";
  /** Whether `schedule` was called during a flush. */
  #again = false;
  /** How the session ends, once decided. From then on nothing new starts. */
  #end: SessionEnd | undefined;
  /** Whether the record of that end is in the journal. */
  #endRecorded = false;
  /** Whether writing has stopped for good. */
  #over = false;
  readonly #ended = Promise.withResolvers<Fallible<SessionEnd>>();

  constructor(setup: SessionSetup<S>) {
    const { engine } = setup;
    this.session_id = setup.session_id;
    this.engine = engine;
    this.ledger = engine.ledger;
    this.presentation = engine.mode.presentation;
    const context: SessionContext = {
      ...setup,
      mode: engine.mode,
      ledger: engine.ledger,
      bus: this.bus,
      submit: (input) => this.submit(input),
      submitFromPerson: (input) => this.submitFromPerson(input),
      nextSequence: () => this.sequence + 1,
      note: (note) => this.#note(note),
      keep: (change) => this.keep(change),
      afterCommit: (effect) => this.#journal.afterCommit(effect),
      schedule: () => this.#schedule(),
      stop: (reason, message, details) => this.stop(reason, message, details),
      fail: (failure) => this.#fail(failure),
      broken: (error) => this.broken(error),
    };
    this.#context = context;
    this.#journal = new Journal(context, setup.head);
    this.#workload = new Workload(context, setup.takeChild, () => this.#timerDue());
    this.#inbox = new InboxWatch(context, this.#workload.children);
    this.#time = new TimeWatch(context, this.#workload.timers);
    this.#idle = new IdlePolicy(context, this.#workload);
    this.#notifications = new Notifications(context, this, setup.notify, setup.sent);
    this.#hooks = hookCommands(context, this);
    this.#working = [this.#workload, this.#notifications, ...(this.#hooks ? [this.#hooks] : [])];
  }

  /** The sequence of the last record, committed or about to be. */
  get sequence(): number {
    return this.#journal.head.sequence;
  }

  /** The number of running agents, including those of child sessions. */
  get running(): number {
    return this.#workload.running;
  }

  /** What stands in the session. `read` resolves titles. */
  state(read: (title: Json) => string): SessionState {
    return standingState(this.engine, read);
  }

  /** Resolves references into the session's records. */
  resolve(value: JsonObject): JsonObject {
    return resolve(value, this.#context.records) as JsonObject;
  }

  /**
   * Runs until the session closes or stops. With `waitForPeople` false, it stops as `waiting` when only a person could advance it. Fails with
   * `storage`, `storage_full` or `stale_lease` when it can no longer write. Rejects after a bug.
   */
  run(options: { readonly waitForPeople: boolean }): Promise<Fallible<SessionEnd>> {
    this.#waitForPeople = options.waitForPeople;
    if (this.#over) return this.#ended.promise;
    this.#began = this.#context.clock.monotonic();
    const { closed } = this.ledger.figures;
    if (closed) this.#settle({ kind: "closed", ...closed });
    this.#inbox.start();
    if (!this.#over) this.#journal.changes([markOf(this.#context.clock)]);
    if (!this.#over) this.#workload.begin(options.waitForPeople);
    this.#time.start();
    this.#notifications.begin();
    this.#schedule();
    return this.#ended.promise;
  }

  // ── Take in

  /** Decides a fact in memory. Returns undefined once the session records nothing more. */
  submit(input: FactInput): Advance | undefined {
    return this.#recording(() => this.#take(input));
  }

  /** Takes in a person's message, after a check of all records if it approves them. Records one that is malformed or not allowed as refused. */
  submitFromPerson(input: FactInput): Failure | undefined {
    // The next scheduler, if it reopens the session, refuses what is left in the inbox.
    if (this.#isClosed) return undefined;
    const { store, paths, hashes } = this.#context;
    if (input.payload_type === "approval") this.#recording(() => checkAgain(store, this.session_id, paths.log, hashes));
    const sequence = this.sequence + 1;
    const message = fromPerson(input, this.engine.mode.rights);
    if (!message.ok) {
      const payload = { ...message.error };
      this.#note({ source: "scheduler", payload_type: "error", payload, disposition: "refused", actor: input.actor });
    }
    const refusal = message.ok ? this.submit(message.value)?.step.refused : message.error;
    const { taken: id } = input;
    if (id !== undefined) this.#journal.tookInboxRow({ id, sequence, ...defined({ refusal }) });
    return refusal;
  }

  /** Resolves to true once everything taken in so far is durable, to false if it never will be. */
  durable(): Promise<boolean> {
    return this.#journal.durable();
  }

  /** Stores a value that is not a fact. Resolves to true once durable, to false if it never will be. */
  keep(change: Change): Promise<boolean> {
    const kept = this.#journal.keep(change);
    this.#schedule();
    return kept;
  }

  #note(given: Note): void {
    this.#recording(() => {
      const note = { ...given, payload: this.#context.secrets.json(given.payload) };
      this.#journal.record(noteRecord(this.session_id, note, this.#context.clock.now()));
      this.#schedule();
    });
  }

  #recording<T>(take: () => T): T | undefined {
    try {
      return this.#isClosed ? undefined : take();
    } catch (error) {
      this.broken(error);
      return undefined;
    }
  }

  /** Whether nothing more is recorded, not even the output of agents that are being ended. */
  get #isClosed(): boolean {
    return this.#over || this.#end?.kind === "closed";
  }

  #timerDue(): void {
    if (this.#isClosed) return;
    this.#time.look();
    crashPoint("timer_due");
    const { timers } = this.#workload;
    for (const due of timers.due()) this.submit({ source: "scheduler", payload_type: "timer_fired", payload: due });
    timers.arm();
    this.#schedule();
  }

  // ── Decide

  #take(given: FactInput): Advance {
    const input = withheldFrom(given, this.#context.secrets);
    const before = input.turn && this.ledger.turns.get(input.turn.turn_id);
    const { fact, done } = this.#decide(input);
    for (const command of done.step.commands) this.#carryOut(command, fact.received_at);
    if (done.disposition === "applied") this.#applySessionCommand(fact, input);
    this.#workload.settle(before);
    if (fact.payload_type === "session_recovered")
      for (const turn of fact.payload.turns) this.#workload.offer(turn.turn_id);
    this.#schedule();
    return done;
  }

  /** Decides a fact, and puts it and everything that follows from it into the next commit. */
  #decide(input: FactInput): { readonly fact: Fact; readonly done: Advance } {
    const { records, clock } = this.#context;
    const sequence = this.sequence + 1;
    const at = input.at ?? clock.now();
    const fact = factFrom(input, sequence, at);
    const done = advance(this.engine, fact);
    const heard_by = done.disposition === "applied" ? this.#workload.tell(fact) : undefined;
    this.#journal.record(factRecord(this.session_id, { ...input, heard_by }, at, done, records));
    this.#journal.changes(done.changes);
    if (input.artifact && done.disposition === "applied") this.#journal.artifact({ ...input.artifact, sequence });
    for (const one of done.envelopes) this.#journal.record(decidedRecord(this.session_id, one, at, records));
    return { fact, done };
  }

  /** Acts on a person's commands that modes do not see. */
  #applySessionCommand(fact: Fact, { actor }: FactInput): void {
    const stopped = stopAsked(fact, actor);
    if (stopped !== undefined) this.#journal.afterCommit(() => this.stop("signal", stopped));
    if (isPause(fact)) this.#journal.afterCommit(() => this.#workload.children.pauseLikeParent());
  }

  #carryOut(command: Command, at: Instant): void {
    switch (command.do) {
      case "stop_session":
        this.#journal.afterCommit(() => this.stop(command.reason, command.message, { ...command.limit }));
        return;
      case "finish":
        this.#close(command, at);
        return;
      default:
        this.#workload.carryOut(command);
    }
  }

  /** Puts the report and the close into one commit. */
  #close(command: Extract<Command, { do: "finish" }>, at: Instant): void {
    recordClose(this.#context, this.engine, this.#journal, command, at);
    const { outcome, reason } = command;
    this.#settle({ kind: "closed", outcome, ...defined({ reason }) });
    this.#journal.afterCommit(() => this.#workload.closeAll());
  }

  // ── Commit, publish, take effect

  /**
   * Flushes in the next turn of the event loop, together with everything that came in until then. Flushes never overlap: a single fact is
   * durable soon, and under load hundreds share one transaction.
   */
  #schedule(): void {
    if (this.#pass === "flushing") this.#again = true;
    if (this.#pass !== "none" || this.#over) return;
    this.#pass = "scheduled";
    this.#context.clock.soon(() => {
      this.#flush().catch((error: unknown) => this.broken(error));
    });
  }

  async #flush(): Promise<void> {
    this.#pass = "flushing";
    if (this.#over) return;
    this.#admit();
    this.#again = false;
    if (!this.#journal.isEmpty) {
      const { outcome = null } = this.ledger.figures.closed ?? {};
      const committed = await this.#journal.flush({ state: stateOf(this.engine), outcome });
      if (!committed.ok) return this.#fail(committed.error);
    }
    this.#pass = "none";
    if (!this.#journal.isEmpty || this.#again) this.#schedule();
    else if (!this.#over) this.#rest();
  }

  /** Puts the turns that may begin now into this commit. */
  #admit(): void {
    const { paused, stopping, stopped, closed } = this.ledger.figures;
    if (this.#began === undefined || this.#isEnding || paused || stopping || stopped || closed) return;
    const limit = this.#workload.admit(this.engine, this.#began);
    // Running turns have been paid for, so they end by themselves, but nothing new begins.
    if (limit && !this.#workload.isUnderWay) this.stop("limit", limit.message, limit.details);
  }

  // ── Rest

  /** Called when nothing is left to write: waits for what runs, or ends the session. */
  #rest(): void {
    if (this.#isEnding) this.#leaveWhenIdle();
    else if (this.#began !== undefined) this.#idle.look(this.#began, this.#waitForPeople);
  }

  // ── Leave

  /** Whether the session is ending, so nothing new may begin. */
  get #isEnding(): boolean {
    return this.#over || this.#end !== undefined;
  }

  /** Ends resumably: running turns are ended and stay open for a later scheduler. Further calls change nothing. */
  stop(reason: StopReason, message: string, details: JsonObject = {}): void {
    if (this.#isEnding) return;
    this.#end = { kind: "stopped", reason, message };
    // Messages put from now on are for a later scheduler.
    this.#inbox.stop();
    this.bus.emit({ kind: "stopping", reason, running: this.#workload.running });
    this.#workload.abortAll();
    crashPoint("stopping");
    void this.#workload.idle().then(() => {
      // An answer that arrived meanwhile may have closed the session.
      if (this.#end?.kind !== "stopped") return;
      this.#endRecorded = true;
      this.submit({ source: "scheduler", payload_type: "session_stopped", payload: { reason, message, ...details } });
    });
  }

  /** Call when the closing record is in the journal, or was there from the start. */
  #settle(end: SessionEnd): void {
    this.#end = end;
    this.#endRecorded = true;
  }

  #leaveWhenIdle(): void {
    const end = this.#end;
    if (!end || !this.#endRecorded || this.#working.some((part) => part.isBusy)) return;
    void this.#leave(() => {
      this.bus.emit({ kind: "ended", end });
      this.#ended.resolve(ok(end));
    });
  }

  #fail(failure: Failure): void {
    if (this.#over) return;
    // All errors that a successor causes here are reported as the lost lease.
    const ours = this.#context.store.confirm(this.#context.lease);
    const cause = ours.ok || ours.error.code !== "stale_lease" ? failure : ours.error;
    this.#quit(() => this.#ended.resolve(err(cause)));
  }

  /** Ends at once after an exception, with what is committed: after a bug, memory may be ahead of the store. */
  broken(error: unknown): void {
    if (error instanceof StorageError) this.#fail(error.failure);
    else if (this.#over) throw error;
    else this.#quit(() => this.#ended.reject(error));
  }

  /** Ends at once: ends running programs and drops what is not committed. */
  #quit(settle: () => void): void {
    this.#workload.abortAll();
    this.#notifications.abort();
    this.#hooks?.abort();
    this.#writeNoMore();
    void Promise.all(this.#working.map((part) => part.idle())).then(() => this.#leave(settle));
  }

  async #leave(settle: () => void): Promise<void> {
    this.#writeNoMore();
    for (const part of [this.#workload.timers, this.#time, this.#idle, this.#inbox]) part.stop();
    this.#context.log?.close();
    crashPoint("ended");
    if (this.#end?.kind === "stopped") await leaveState(this.#context.store, this.session_id);
    await this.#context.store.release(this.#context.lease);
    settle();
  }

  #writeNoMore(): void {
    this.#over = true;
    this.#journal.abandon();
  }
}
