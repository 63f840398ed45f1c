import type { LogRecord } from "../../protocol/record.ts";
import { applyRecord } from "../model/apply.ts";
import { copyOf, emptyModel, type SessionModel } from "../model/model.ts";

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

/** Reads the record at `place`; undefined if it cannot be read. */
export type ReadRecord = (place: number) => LogRecord | undefined;

/** The session as of any record. Starts at the nearest earlier copy and applies the records after it again. */
export class States {
  readonly #read: ReadRecord;
  readonly #newest = beginning();
  #current = beginning();
  #copies: State[] = [];
  #every = EVERY;

  constructor(read: ReadRecord) {
    this.#read = read;
  }

  /** Applies the next record to the newest state, and copies that state every `#every` records. */
  add(record: LogRecord | undefined): void {
    step(this.#newest, record);
    if (!this.#isCopied(this.#newest)) return;
    this.#copies.push(copied(this.#newest));
    while (this.#copies.length > 1 && ticketsIn(this.#copies) > MAX_TICKETS) {
      this.#every *= 2;
      this.#copies = this.#copies.filter((copy) => this.#isCopied(copy));
    }
  }

  /** The session as of the record at `place`. It is valid until the next call. */
  at(place: number): SessionModel {
    const nearest = this.#copies.findLast((copy) => copy.place <= place) ?? beginning();
    if (this.#current.place > place || this.#current.place < nearest.place) this.#current = copied(nearest);
    while (this.#current.place < place) step(this.#current, this.#read(this.#current.place + 1));
    return this.#current.model;
  }

  #isCopied({ place }: State): boolean {
    return (place + 1) % this.#every === 0;
  }
}

/** An unreadable record changes nothing. */
function step(state: State, record: LogRecord | undefined): void {
  state.place += 1;
  if (record !== undefined) applyRecord(state.model, record.integrity.sequence, record);
}

function beginning(): State {
  return { place: -1, model: emptyModel() };
}

function copied({ place, model }: State): State {
  return { place, model: copyOf(model) };
}

function ticketsIn(copies: readonly State[]): number {
  return copies.reduce((sum, { model }) => sum + model.subjects.size + COPY, 0);
}
