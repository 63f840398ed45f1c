import type { Launcher } from "../agents/launcher.ts";
import type { Agent } from "../kernel/agent.ts";
import { type Advance, advance, type Engine } from "../kernel/engine.ts";
import { type Ledger, type LedgerTurn, stampOf } from "../kernel/ledger.ts";
import type { Change, Command, SessionView } from "../kernel/mode.ts";
import { resolve } from "../kernel/references.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Result } from "../lib/result.ts";
import { writeReport } from "../log/report.ts";
import type { LogFolder } from "../log/writer.ts";
import type { Failure } from "../protocol/failure.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import { subjectIn } from "../protocol/recording.ts";
import type { Role } from "../protocol/roles.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Lease, Store } from "../store/store.ts";
import { Bus, type SessionEnd } from "./bus.ts";
import { Checks } from "./checks.ts";
import type { Clock } from "./clock.ts";
import { closingRecords } from "./closing.ts";
import type { Admission, Dispatcher } from "./dispatcher.ts";
import { InboxWatch } from "./inbox.ts";
import { type FactInput, personRefused } from "./facts.ts";
import { type Head, Journal } from "./journal.ts";
import type { SessionPaths } from "./paths.ts";
import { decidedRecord, factFrom, factRecord, type Note, noteRecord } from "./recordings.ts";
import type { SessionRecords } from "./records.ts";
import { Timers } from "./timers.ts";
import { Turns } from "./turns.ts";

/** Everything a session works with; put together by `open.ts`. */
export interface SessionParts<S> {
  readonly session_id: string;
  readonly engine: Engine<S>;
  readonly head: Head;
  readonly store: Store;
  readonly lease: Lease;
  readonly records: SessionRecords;
  /** Absent where nobody wants files: measurements. */
  readonly log?: LogFolder | undefined;
  readonly clock: Clock;
  readonly paths: SessionPaths;
  readonly launcher: Launcher;
  readonly config: ResolvedConfiguration;
  readonly workspace: string;
  readonly agentFor: (role: Role) => Agent;
  readonly makeDispatcher: (isHeld: (role_id: string) => boolean) => Dispatcher;
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
  readonly #dispatcher: Dispatcher;
  readonly #timers: Timers;
  readonly #turns: Turns;
  readonly #checks: Checks;
  readonly #inbox: InboxWatch;
  readonly #ended = Promise.withResolvers<Result<SessionEnd, Failure>>();
  readonly #journal: Journal;
  readonly #unkept = new Set<(durable: boolean) => void>();
  #flushing = false;
  #scheduled = false;
  /** Before `run` what comes in is only put on record: nothing is begun, and nothing is concluded from silence. */
  #begun: Instant | undefined;
  #over = false;
  /** How the session will be left, from the moment that is settled. */
  #leaving: SessionEnd | undefined;
  /** The record that says so is on its way. */
  #parted = false;
  #waitForPeople = true;
  #stuck = false;

  constructor(parts: SessionParts<S>) {
    this.#parts = parts;
    this.#journal = new Journal({ ...parts, bus: this.bus });
    this.#dispatcher = parts.makeDispatcher((role_id) => this.#timers.isHeld(role_id));
    this.#timers = new Timers(this.ledger, parts.clock, () => this.#onTimer());
    this.#turns = new Turns(parts, this);
    this.#checks = new Checks(parts, this);
    this.#inbox = new InboxWatch(parts.store, parts.session_id, parts.clock, (input) => this.submitFromPerson(input));
    for (const turn of this.ledger.turns.values()) if (turn.status === "offered") this.#dispatcher.offer(turn);
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
    if (this.#over) return this.#ended.promise;
    this.#begun = this.#parts.clock.now();
    const { closed } = this.ledger.figures;
    if (closed) [this.#leaving, this.#parted] = [{ kind: "closed", ...closed }, true];
    this.#inbox.start();
    for (const checks of this.ledger.checks.values()) this.#checks.start(checks);
    this.#timers.arm();
    this.#schedule();
    return this.#ended.promise;
  }

  /** Ends resumably: no new turns, running ones are ended and stay open for a later run. Told again, it changes nothing. */
  stop(reason: "signal" | "limit" | "waiting" | "manager_failed", message: string, more: JsonObject = {}): void {
    if (this.#over || this.#leaving) return;
    this.#leaving = { kind: "stopped", reason, message };
    // What is put to the session from now on is for whoever resumes it.
    this.#inbox.stop();
    this.bus.emit({ kind: "stopping", reason, running: this.#turns.count });
    this.#abortAll();
    void this.#turns.idle().then(() => {
      // An answer that came in meanwhile may have closed the session after all.
      if (this.#leaving?.kind !== "stopped") return;
      this.#parted = true;
      this.submit({ source: "scheduler", payload_type: "session_stopped", payload: { reason, message, ...more } });
    });
  }

  /** What is said after the closing record, by agents that are being ended, has no place in the log any more. */
  get #isOver(): boolean {
    return this.#over || this.#leaving?.kind === "closed";
  }

  /** Takes a fact in: decides, applies, and puts everything that follows into the next commit. */
  submit(input: FactInput): Advance | undefined {
    if (this.#isOver) return undefined;
    const { engine, clock } = this.#parts;
    const sequence = this.#journal.head.sequence + 1;
    const at = input.at ?? clock.now();
    const fact = factFrom(input, sequence, at);
    const before = input.turn && engine.ledger.turns.get(input.turn.turn_id);
    const done = advance(engine, fact);
    this.#journal.record(factRecord(this.session_id, input, at, done));
    this.#journal.changes(done.changes);
    if (input.artifact && done.disposition === "applied") this.#journal.artifact({ ...input.artifact, sequence });
    if (input.taken !== undefined) this.#journal.took(input.taken);
    for (const envelope of done.envelopes) {
      this.#journal.record(decidedRecord(this.session_id, envelope, at, this.resolve(envelope.payload)));
    }
    for (const command of done.step.commands) this.#carryOut(command, at);
    this.#settleTurn(before, input.turn?.turn_id);
    if (fact.payload_type === "session_recovered") for (const turn of fact.payload.turns) this.#offer(turn.turn_id);
    this.#schedule();
    return done;
  }

  /** A person's word, from whatever door: only what the mode lets people say, and only well-formed. */
  submitFromPerson(input: FactInput): Advance | undefined {
    const payload = personRefused(input, this.#parts.engine.mode.rights);
    if (!payload) return this.submit({ ...input, subject: subjectIn(input.payload) });
    this.note({ source: "scheduler", payload_type: "error", payload, disposition: "refused", actor: input.actor });
    if (input.taken !== undefined) this.#journal.took(input.taken);
    return undefined;
  }

  /** Records what an agent said and what moves nothing: refused, repeated or late. */
  note(note: Note): void {
    if (this.#isOver) return;
    this.#journal.record(noteRecord(this.session_id, note, this.#parts.clock.now()));
    this.#schedule();
  }

  /** Stores a value that is no fact (a process's identity); comes back with true when it is durable, false if it will never be. */
  keep(change: Change): Promise<boolean> {
    if (this.#over) return Promise.resolve(false);
    const kept = Promise.withResolvers<boolean>();
    this.#unkept.add(kept.resolve);
    this.#journal.changes([change]);
    this.#journal.afterwards(() => {
      this.#unkept.delete(kept.resolve);
      kept.resolve(true);
    });
    this.#schedule();
    return kept.promise;
  }

  /** A turn's agent or a check is gone: if the turn was withdrawn, its seat is free only now. */
  over(id: string): void {
    // One that was held has been offered again by now, and waits.
    if (this.#dispatcher.hasAdmitted(id) && this.ledger.turns.get(id)?.status !== "open") this.#dispatcher.end(id);
    this.#schedule();
  }

  /** The turn's part in the dispatcher is over, whatever its result was. */
  #settleTurn(before: LedgerTurn | undefined, turn_id: string | undefined): void {
    if (!before || turn_id === undefined) return;
    const after = this.ledger.turns.get(turn_id);
    if (after?.status === "open") return;
    this.#dispatcher.end(turn_id);
    if (after) this.#dispatcher.offer(after);
  }

  #offer(turn_id: string): void {
    const turn = this.ledger.turns.get(turn_id);
    if (turn) this.#dispatcher.offer(turn);
  }

  #carryOut(command: Command, at: Instant): void {
    switch (command.do) {
      case "offer_turn":
        this.#offer(command.turn_id);
        return;
      case "withdraw_turn":
        if (this.#dispatcher.hasAdmitted(command.turn_id))
          this.#journal.afterwards(() => this.#turns.abort(command.turn_id, command.reason));
        else this.#dispatcher.end(command.turn_id);
        return;
      case "ask":
        this.#journal.afterwards(() => this.bus.emit({ kind: "ask", ask: command }));
        return;
      case "set_timer":
        this.#journal.afterwards(() => this.#timers.at(command.due_at));
        return;
      case "run_checks":
        this.#journal.afterwards(() => this.#checks.start(command));
        return;
      case "drop_checks":
        this.#journal.afterwards(() => this.#checks.abort(command.check_id));
        return;
      case "stop_session":
        this.#journal.afterwards(() => this.stop("manager_failed", command.message));
        return;
      case "finish":
        this.#close(command, at);
        return;
      case "clear_ask":
      case "clear_timer":
        return;
    }
  }

  #close(command: Extract<Command, { do: "finish" }>, at: Instant): void {
    const records = closingRecords({
      session_id: this.session_id,
      mode: this.#parts.engine.mode.name,
      opened_at: this.#parts.opened_at,
      at,
      command,
      figures: this.ledger.figures,
      head: this.#journal.head,
      resolve: (value) => this.resolve(value),
    });
    for (const record of records) this.#journal.record(record);
    this.#journal.afterwards(() => {
      const written = writeReport(this.#parts.paths.folder, records[0].payload);
      if (!written.ok) this.#fail(written.error);
    });
    const { outcome, reason } = command;
    this.#leaving = { kind: "closed", outcome, ...(reason === undefined ? {} : { reason }) };
    this.#parted = true;
    this.#journal.afterwards(() => this.#abortAll());
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing || this.#over) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#over) return;
    this.#flushing = true;
    this.#admit();
    if (!this.#journal.isEmpty) {
      const { mode, state } = this.#parts.engine;
      const flushed = await this.#journal.flush({
        state: this.ledger.figures.paused ? "paused" : mode.phase(state),
        ...(this.#leaving?.kind === "closed" ? { outcome: this.#leaving.outcome } : {}),
      });
      if (!flushed.ok) {
        this.#fail(flushed.error);
        return;
      }
    }
    this.#flushing = false;
    if (this.#journal.isEmpty) this.#rest();
    else this.#schedule();
  }

  /** Starts what may start, as facts of the group that is about to be committed. */
  #admit(): void {
    const { figures } = this.ledger;
    if (!this.#begun || this.#leaving || figures.paused || figures.stopped || figures.closed) return;
    const now = this.#parts.clock.now();
    for (let admission = this.#dispatcher.admit(); admission; admission = this.#dispatcher.admit()) {
      const limit = this.#turns.limitReached(now, this.#begun);
      if (limit) {
        this.#dispatcher.end(admission.turn.turn_id);
        this.#dispatcher.offer(admission.turn);
        this.stop("limit", limit.message, limit.details);
        return;
      }
      this.#open(admission);
    }
  }

  #open(admission: Admission): void {
    const { turn } = admission;
    const stamp = stampOf(turn);
    const { engine } = this.#parts;
    const draft = engine.mode.request(engine.state, stamp);
    const payload = this.#turns.requestPayload(draft, admission);
    const at = this.#parts.clock.now();
    this.submit({
      at,
      source: "scheduler",
      target: admission.role.role_id,
      payload_type: "turn_request",
      payload,
      subject: turn.subject,
      turn: stamp,
    });
    this.#journal.afterwards(() => this.#turns.start(admission, stamp, payload, at));
  }

  #onTimer(): void {
    for (const due of this.#timers.due())
      this.submit({ source: "scheduler", payload_type: "timer_fired", payload: due });
    this.#timers.arm();
    this.#schedule();
  }

  /** Nothing left to write: is anything still going on, and if not, how does this end? */
  #rest(): void {
    if (this.#over) return;
    if (this.#leaving) {
      if (this.#parted && this.#turns.count === 0 && this.#checks.count === 0)
        void this.#end({ ok: true, value: this.#leaving });
      return;
    }
    if (!this.#begun) return;
    this.#timers.arm();
    const { asks, holds, figures } = this.ledger;
    if (this.#turns.count > 0 || this.#checks.count > 0 || figures.paused || this.#timers.willWake) return;
    const held = [...holds.keys()].some((role_id) => this.#timers.isHeld(role_id));
    if (asks.size === 0 && !held) {
      if (this.#stuck) throw new Error("the mode neither goes on nor finishes after no_progress");
      this.#stuck = true;
      this.submit({
        source: "scheduler",
        payload_type: "session_stopped",
        payload: { reason: "no_progress", message: "nothing is open and nothing is finished" },
      });
    } else if (!this.#waitForPeople) {
      this.stop("waiting", held ? "a role is held until a person acts" : "a person must answer");
    }
  }

  #abortAll(): void {
    this.#timers.stop();
    this.#turns.abortAll();
    this.#checks.abortAll();
  }

  #fail(failure: Failure): void {
    this.#abortAll();
    this.#over = true;
    for (const never of this.#unkept) never(false);
    void Promise.all([this.#turns.idle(), this.#checks.idle()]).then(() => this.#end({ ok: false, error: failure }));
  }

  async #end(end: Result<SessionEnd, Failure>): Promise<void> {
    this.#over = true;
    this.#timers.stop();
    this.#inbox.stop();
    this.#parts.log?.close();
    await this.#parts.store.release(this.#parts.lease);
    if (end.ok) this.bus.emit({ kind: "ended", end: end.value });
    this.#ended.resolve(end);
  }
}
