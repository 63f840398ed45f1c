import type { LogRecord } from "../../protocol/record.ts";
import { applyRecord } from "../model/apply.ts";
import { emptyModel, type SessionModel } from "../model/model.ts";

/** A session after the record at a place; at -1 before all. */
interface State {
  place: number;
  readonly model: SessionModel;
}

/** At first a copy of the session is kept after so many records. */
const EVERY = 250;

/** All copies have so many tickets together, at most; a copy itself counts like some tickets. */
const MOST_TICKETS = 40_000;
const COPY = 50;

/** A record at a place; undefined if it cannot be read. */
export type ReadRecord = (place: number) => LogRecord | undefined;

/** The session as it was after any record: from the copy before it, the records up to there are applied again. */
export class States {
  readonly #sequences: readonly number[];
  readonly #read: ReadRecord;
  readonly #newest: State = { place: -1, model: emptyModel() };
  #current: State = { place: -1, model: emptyModel() };
  #copies: State[] = [];
  #every = EVERY;
  #weight = 0;

  constructor(sequences: readonly number[], read: ReadRecord) {
    this.#sequences = sequences;
    this.#read = read;
  }

  /** Takes the next record, so that later the session can be shown as it was around it. */
  add(record: LogRecord | undefined): void {
    this.#step(this.#newest, record);
    const { place, model } = this.#newest;
    if ((place + 1) % this.#every === 0) this.#copy(place, model);
  }

  /** The session after the record at a place. It is valid until the next call. */
  at(place: number): SessionModel {
    const before = this.#copies.findLast((copy) => copy.place <= place) ?? { place: -1, model: emptyModel() };
    if (this.#current.place > place || this.#current.place < before.place)
      this.#current = { place: before.place, model: structuredClone(before.model) };
    while (this.#current.place < place) this.#step(this.#current, this.#read(this.#current.place + 1));
    return this.#current.model;
  }

  #copy(place: number, model: SessionModel): void {
    this.#copies.push({ place, model: structuredClone(model) });
    this.#weight += model.tickets.size + COPY;
    while (this.#weight > MOST_TICKETS && this.#copies.length > 1) {
      this.#every *= 2;
      this.#copies = this.#copies.filter((copy) => (copy.place + 1) % this.#every === 0);
      this.#weight = this.#copies.reduce((sum, copy) => sum + copy.model.tickets.size + COPY, 0);
    }
  }

  /** A record that cannot be read changes nothing. */
  #step(state: State, record: LogRecord | undefined): void {
    state.place += 1;
    if (record !== undefined) applyRecord(state.model, this.#sequences[state.place] ?? 0, record);
  }
}
