import type { LogRecord } from "../../protocol/record.ts";
import { applyRecord } from "../model/apply.ts";
import { copyOf } from "../model/copy.ts";
import { emptyModel, type SessionModel } from "../model/model.ts";

/** A session after the record at a place; at -1 before all. */
interface State {
  place: number;
  readonly model: SessionModel;
}

/** At first a copy of the session is kept after so many records. */
const EVERY = 250;

/** All copies have so many tickets together, at most; a copy itself counts like some tickets. */
const MAX_TICKETS = 100_000;
const COPY = 50;

/** So many records before a place that is gone back to, another copy is kept. */
const BACK = 50;

/** A record at a place; undefined if it cannot be read. */
export type ReadRecord = (place: number) => LogRecord | undefined;

/** The session as it was after any record: from the copy before it, the records up to there are applied again. */
export class States {
  readonly #sequenceAt: (place: number) => number;
  readonly #read: ReadRecord;
  readonly #newest: State = { place: -1, model: emptyModel() };
  #current: State = { place: -1, model: emptyModel() };
  #copies: State[] = [];
  /** Shortly before the place that was gone back to last. */
  #near: State | undefined;
  #every = EVERY;
  #weight = 0;

  constructor(sequenceAt: (place: number) => number, read: ReadRecord) {
    this.#sequenceAt = sequenceAt;
    this.#read = read;
  }

  /** Takes the next record, so that later the session can be shown as it was around it. */
  add(record: LogRecord | undefined): void {
    this.#step(this.#newest, record);
    if ((this.#newest.place + 1) % this.#every === 0) this.#copy();
  }

  /** The session after the record at a place. It is valid until the next call. */
  at(place: number): SessionModel {
    const before = this.#before(place);
    if (this.#current.place > place || this.#current.place < before.place) {
      // Whoever steps back once mostly goes on.
      const near = place - BACK > before.place ? this.#moved(copied(before), place - BACK) : before;
      this.#near = near;
      this.#current = copied(near);
    }
    return this.#moved(this.#current, place).model;
  }

  /** The latest state up to a place that is kept. */
  #before(place: number): State {
    const copy = this.#copies.findLast((one) => one.place <= place) ?? { place: -1, model: emptyModel() };
    const near = this.#near;
    return near !== undefined && near.place <= place && near.place > copy.place ? near : copy;
  }

  #moved(state: State, place: number): State {
    while (state.place < place) this.#step(state, this.#read(state.place + 1));
    return state;
  }

  #copy(): void {
    this.#copies.push(copied(this.#newest));
    this.#weight += weightOf(this.#newest);
    while (this.#weight > MAX_TICKETS && this.#copies.length > 1) {
      this.#every *= 2;
      this.#copies = this.#copies.filter((copy) => (copy.place + 1) % this.#every === 0);
      this.#weight = this.#copies.reduce((sum, copy) => sum + weightOf(copy), 0);
    }
  }

  /** A record that cannot be read changes nothing. */
  #step(state: State, record: LogRecord | undefined): void {
    state.place += 1;
    if (record !== undefined) applyRecord(state.model, this.#sequenceAt(state.place), record);
  }
}

function weightOf({ model }: State): number {
  return model.tickets.size + COPY;
}

function copied({ place, model }: State): State {
  return { place, model: copyOf(model) };
}
