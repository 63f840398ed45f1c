import { defined, type Json } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Effect } from "../../protocol/recording.ts";
import { later } from "../../protocol/timestamp.ts";
import type { Lifecycle } from "../machine.ts";
import type { Change, Command, EnvelopeDraft, Fact, Step, TurnId } from "../mode.ts";
import { EventRefused, notPermitted, type Patch, patched, turnId } from "../step.ts";

/** What a step says and asks for, while it is written. The mode's own values are beside it (`Values`). */
export class StepWriter {
  readonly fact: Fact;
  readonly #envelopes: EnvelopeDraft[] = [];
  readonly #effects: Effect[] = [];
  readonly #commands: Command[] = [];
  #refused: Failure | undefined;
  #turns = 0;
  #checks = 0;
  #hasChild = false;

  constructor(fact: Fact) {
    this.fact = fact;
  }

  command(command: Command): void {
    this.#commands.push(command);
  }

  /** Adds an envelope. Returns the sequence of its record: a refusal, if there is one, is recorded before the envelopes. */
  envelope(draft: EnvelopeDraft): number {
    this.#envelopes.push(draft);
    return this.fact.sequence + (this.#refused ? 1 : 0) + this.#envelopes.length;
  }

  refuse(why: Failure): void {
    this.#refused = why;
  }

  /** Refuses what the state does not allow, and says what to do instead. */
  forbid(message: string, hint: string): void {
    this.refuse(notPermitted(message, hint));
  }

  /** The id of the next turn that the step offers. */
  nextTurn(): TurnId {
    this.#turns += 1;
    return turnId(this.fact, this.#turns);
  }

  /** The id of the next checks that the step begins. */
  nextChecks(): string {
    this.#checks += 1;
    return this.#checks === 1 ? `k${this.fact.sequence}` : `k${this.fact.sequence}.${this.#checks}`;
  }

  /** The id of the only child session that the step can begin. */
  nextChild(): string {
    if (this.#hasChild) throw new Error("a step begins one child session");
    this.#hasChild = true;
    return String(this.fact.sequence);
  }

  /** Sets a timer that fires `delay_ms` after the fact. */
  setTimer(timer_id: string, delay_ms: number, passive = false): void {
    const due_at = later(this.fact.received_at, delay_ms);
    this.command({ do: "set_timer", timer_id, due_at, ...(passive ? { passive } : {}) });
  }

  /** Records that a subject begins. */
  created(subject: string, event: string, to: string): void {
    this.#effects.push({ subject, from: null, event, to });
  }

  /** Applies an event to a subject's machine, and records the effect. `who` names the subject if its status does not accept the event. */
  moved<State extends string, Event extends string>(
    lifecycle: Lifecycle<State, Event>,
    who: string,
    { id, status }: { readonly id: string; readonly status: State },
    event: Event,
    reason?: string,
  ): State {
    const to = accepted(lifecycle, `${who} "${id}"`, status, event);
    this.#effects.push({ subject: id, from: status, event, to, ...defined({ reason }) });
    return to;
  }

  step(changes: readonly Change[]): Step {
    return {
      changes,
      envelopes: this.#envelopes,
      effects: this.#effects,
      commands: this.#commands,
      ...defined({ refused: this.#refused }),
    };
  }
}

/** Where an event leads. Throws `EventRefused` if the state does not accept it. */
export function accepted<State extends string, Event extends string>(
  lifecycle: Lifecycle<State, Event>,
  who: string,
  from: State,
  event: Event,
): State {
  const to = lifecycle.next(from, event);
  if (to === undefined) throw new EventRefused(`${who} is ${from}, which does not accept "${event}"`);
  return to;
}

/** The values of a collection as a step leaves them. Reads see earlier writes; several writes to one value become one change. */
export class Values<T extends object> {
  readonly #collection: string;
  readonly #before: ReadonlyMap<string, T>;
  /** Undefined for a value that was dropped. */
  readonly #written = new Map<string, T | undefined>();

  constructor(collection: string, before: ReadonlyMap<string, T>) {
    this.#collection = collection;
    this.#before = before;
  }

  get(id: string): T | undefined {
    return this.#written.has(id) ? this.#written.get(id) : this.#before.get(id);
  }

  put(id: string, value: T): void {
    this.#written.set(id, value);
  }

  /** Throws `EventRefused` if there is no such value. */
  needed(id: string): T {
    const value = this.get(id);
    if (!value) throw new EventRefused(`there is no ${this.#collection} "${id}"`);
    return value;
  }

  /** Returns the value with the patch applied. Throws `EventRefused` if there is none. */
  patch(id: string, patch: Patch<T>): T {
    const next = patched(this.needed(id), patch);
    this.put(id, next);
    return next;
  }

  drop(id: string): void {
    this.#written.set(id, undefined);
  }

  /** All values, in no particular order. */
  all(): T[] {
    const values: T[] = [];
    for (const [id, value] of this.#before) if (!this.#written.has(id)) values.push(value);
    for (const value of this.#written.values()) if (value) values.push(value);
    return values;
  }

  /** The values that the step wrote, with what they were before it. */
  written(): (readonly [before: T | undefined, now: T | undefined])[] {
    return Array.from(this.#written, ([id, now]) => [this.#before.get(id), now]);
  }

  changes(): Change[] {
    const changes: Change[] = [];
    for (const [id, value] of this.#written)
      changes.push(value === undefined ? { drop: this.#collection, id } : put(this.#collection, id, value));
    return changes;
  }
}

export function put(collection: string, id: string, value: object): Change {
  return { put: collection, id, value: value as Json };
}
