import { type Advance, advance, type Engine } from "../kernel/engine.ts";
import { stampOf } from "../kernel/ledger.ts";
import type { Command, Fact } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { writeReport } from "../log/report.ts";
import { subjectIn } from "../protocol/recording.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { SessionEnd } from "./bus.ts";
import type { Clock } from "./time/clock.ts";
import { closingRecords } from "./closing.ts";
import { type FactInput, isPause, personRefused, stopAsked } from "./facts.ts";
import type { Journal } from "./journal.ts";
import type { SessionPaths } from "./paths.ts";
import { decidedRecord, factFrom, factRecord, type Note, noteRecord } from "./recordings.ts";
import type { SessionRecords } from "./records.ts";
import type { SessionDoor } from "./door.ts";
import type { Workload } from "./workload.ts";

export interface IntakeParts<S> {
  readonly session_id: string;
  readonly engine: Engine<S>;
  readonly records: SessionRecords;
  readonly clock: Clock;
  readonly paths: SessionPaths;
  readonly opened_at: Instant;
}

interface IntakeDoor extends SessionDoor {
  /** Nothing can be put on record any more. */
  isOver(): boolean;
  /** The closing record is in the journal. */
  closed(end: SessionEnd): void;
}

/**
 * Where all that comes in is put on record: facts, which are decided at once and whose commands are carried out once they are durable, and what
 * moves nothing.
 */
export class Intake<S> {
  readonly #parts: IntakeParts<S>;
  readonly #journal: Journal;
  readonly #work: Workload;
  readonly #door: IntakeDoor;

  constructor(parts: IntakeParts<S>, journal: Journal, work: Workload, door: IntakeDoor) {
    this.#parts = parts;
    this.#journal = journal;
    this.#work = work;
    this.#door = door;
  }

  submit(input: FactInput): Advance | undefined {
    try {
      return this.#door.isOver() ? undefined : this.#take(input);
    } catch (error) {
      this.#door.broken(error);
      return undefined;
    }
  }

  #take(input: FactInput): Advance {
    const before = input.turn && this.#parts.engine.ledger.turns.get(input.turn.turn_id);
    const { fact, done } = this.#decide(input);
    for (const command of done.step.commands) this.#carryOut(command, fact.received_at);
    const stopped = done.disposition === "applied" ? stopAsked(fact, input.actor) : undefined;
    if (stopped !== undefined) this.#journal.afterwards(() => this.#door.stop("signal", stopped));
    if (done.disposition === "applied" && isPause(fact)) {
      this.#journal.afterwards(() => this.#work.children.pauseLikeParent());
    }
    this.#work.settle(before);
    if (fact.payload_type === "session_recovered")
      for (const turn of fact.payload.turns) this.#work.offer(turn.turn_id);
    this.#door.schedule();
    return done;
  }

  /** Decides a fact in memory, and puts it, what it changed and what the mode wrote on it into the next commit. */
  #decide(input: FactInput): { readonly fact: Fact; readonly done: Advance } {
    const { session_id, engine, records, clock } = this.#parts;
    const sequence = this.#journal.head.sequence + 1;
    const at = input.at ?? clock.now();
    const fact = factFrom(input, sequence, at);
    const done = advance(engine, fact);
    this.#journal.record(factRecord(session_id, input, at, done));
    this.#journal.changes(done.changes);
    if (input.artifact && done.disposition === "applied") this.#journal.artifact({ ...input.artifact, sequence });
    if (input.taken !== undefined) this.#journal.took(input.taken);
    for (const envelope of done.envelopes) {
      this.#journal.record(decidedRecord(session_id, envelope, at, records));
    }
    return { fact, done };
  }

  /** A person's word, from whatever door: only what the mode lets people say, and only well-formed. */
  submitFromPerson(input: FactInput): Advance | undefined {
    // Nothing can be put on record any more, so an inbox row is left for whoever reopens the session, and refuses it.
    if (this.#door.isOver()) return undefined;
    const payload = personRefused(input, this.#parts.engine.mode.rights);
    if (!payload) return this.submit({ ...input, subject: subjectIn(input.payload) });
    this.note({ source: "scheduler", payload_type: "error", payload, disposition: "refused", actor: input.actor });
    if (input.taken !== undefined) this.#journal.took(input.taken);
    return undefined;
  }

  /** Records what an agent said and what moves nothing: refused, repeated or late. */
  note(note: Note): void {
    try {
      if (this.#door.isOver()) return;
      this.#journal.record(noteRecord(this.#parts.session_id, note, this.#parts.clock.now()));
      this.#door.schedule();
    } catch (error) {
      this.#door.broken(error);
    }
  }

  #carryOut(command: Command, at: Instant): void {
    switch (command.do) {
      case "ask":
        this.#journal.afterwards(() => this.#door.bus.emit({ kind: "ask", ask: command }));
        return;
      case "stop_session":
        this.#journal.afterwards(() => this.#door.stop(command.reason, command.message, { ...command.limit }));
        return;
      case "repeat_turn":
        this.#work.offer(command.turn_id);
        return;
      case "fail_turn":
        this.#giveUp(command);
        return;
      case "finish":
        this.#close(command, at);
        return;
      case "clear_ask":
      case "clear_timer":
        return;
      default:
        this.#work.carryOut(command);
    }
  }

  #giveUp({ turn_id, code, message }: Extract<Command, { do: "fail_turn" }>): void {
    const turn = this.#parts.engine.ledger.turns.get(turn_id);
    if (!turn) return;
    const about = { subject: turn.subject, turn: stampOf(turn), payload: { turn_id, code, message, refused: [] } };
    this.submit({ source: "scheduler", payload_type: "turn_failed", ...about });
  }

  #close(command: Extract<Command, { do: "finish" }>, at: Instant): void {
    const { session_id, engine, opened_at, paths, records } = this.#parts;
    const { mode, ledger } = engine;
    const [report, closed] = closingRecords({
      session_id,
      mode: mode.name,
      opened_at,
      at,
      command,
      figures: ledger.figures,
      head: this.#journal.head,
      records,
    });
    this.#journal.record(report);
    this.#journal.record(closed);
    this.#journal.afterwards(() => {
      const written = writeReport(paths.folder, report.payload, mode.presentation);
      if (!written.ok) this.#door.fail(written.error);
      crashPoint("report_written");
    });
    const { outcome, reason } = command;
    this.#door.closed({ kind: "closed", outcome, ...(reason === undefined ? {} : { reason }) });
    this.#journal.afterwards(() => this.#work.closeAll());
  }
}
