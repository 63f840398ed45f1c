import type { LogRecord } from "../../protocol/record.ts";
import { applyRecord } from "../model/apply.ts";
import { copyOf } from "../model/copy.ts";
import { emptyModel, type SessionModel } from "../model/model.ts";

/** A session as of the record at `place`; -1 is before the first record. */
interface State {
  place: number;
  readonly model: SessionModel;
}

/** Initial number of records between copies of the session. */
const EVERY = 250;

/** Maximum number of tickets in all copies together. A copy itself counts as `COPY` tickets. */
const MAX_TICKETS = 100_000;
const COPY = 50;

/** When going back to a record, one more copy is kept this many records before it. */
const BACK = 50;

/** Reads the record at `place`; undefined if it cannot be read. */
export type ReadRecord = (place: number) => LogRecord | undefined;

/** The session as of any record. Starts at the nearest earlier copy and applies the records after it again. */
export class States {
  readonly #sequenceAt: (place: number) => number;
  readonly #read: ReadRecord;
  readonly #newest: State = { place: -1, model: emptyModel() };
  #current: State = { place: -1, model: emptyModel() };
  #copies: State[] = [];
  /** A state shortly before the record that was last gone back to. */
  #near: State | undefined;
  #every = EVERY;
  #weight = 0;

  constructor(sequenceAt: (place: number) => number, read: ReadRecord) {
    this.#sequenceAt = sequenceAt;
    this.#read = read;
  }

  /** Applies the next record to the newest state, and copies that state every `#every` records. */
  add(record: LogRecord | undefined): void {
    this.#step(this.#newest, record);
    if ((this.#newest.place + 1) % this.#every === 0) this.#copy();
  }

  /** The session as of the record at `place`. It is valid until the next call. */
  at(place: number): SessionModel {
    const before = this.#before(place);
    if (this.#current.place > place || this.#current.place < before.place) {
      // A person who steps back once usually steps back again.
      const near = place - BACK > before.place ? this.#moved(copied(before), place - BACK) : before;
      this.#near = near;
      this.#current = copied(near);
    }
    return this.#moved(this.#current, place).model;
  }

  /** The latest kept state up to `place`. */
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

  /** An unreadable record changes nothing. */
  #step(state: State, record: LogRecord | undefined): void {
    state.place += 1;
    if (record !== undefined) applyRecord(state.model, this.#sequenceAt(state.place), record);
  }
}

function weightOf({ model }: State): number {
  return model.subjects.size + COPY;
}

function copied({ place, model }: State): State {
  return { place, model: copyOf(model) };
}
