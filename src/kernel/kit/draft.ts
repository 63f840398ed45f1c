import { defined, type JsonObject } from "../../lib/json.ts";
import type { Fact, Outcome, Step } from "../mode.ts";
import { shownStatus } from "../presentation.ts";
import { from } from "../references.ts";
import { EventRefused, type Patch, patched } from "../step.ts";
import { accepts, type Descriptor } from "./descriptor.ts";
import { type Holder, type Holders, offerTurn, type Tries, withdraw } from "./holder.ts";
import type { Lifecycles } from "./lifecycles.ts";
import {
  type Asking,
  inOrder,
  type KitState,
  type NewSubject,
  SELF,
  type Self,
  type Subject,
  type View,
} from "./state.ts";
import { accepted, put, StepWriter, Values } from "./step-writer.ts";

/** What of a mode a draft needs. */
interface Drafted<S extends Self, U extends Subject> {
  readonly descriptor: Descriptor<unknown, S, U>;
  readonly lifecycles: Lifecycles;
  readonly rules: {
    seat(self: S, subject: U | undefined): Asking;
    result(session: View<S, U>): JsonObject;
  };
}

/** A step of a mode of the kit, while it is written. Reads see earlier writes. A method takes no id for the session's own seat. */
export class Draft<S extends Self, U extends Subject> implements View<S, U>, Holders {
  readonly out: StepWriter;
  readonly #kit: Drafted<S, U>;
  readonly #before: KitState<S, U>;
  readonly #subjects: Values<U>;
  #self: S | undefined;

  constructor(kit: Drafted<S, U>, before: KitState<S, U>, fact: Fact) {
    this.#kit = kit;
    this.#before = before;
    this.#self = before.self;
    this.#subjects = new Values(kit.descriptor.subject, before.subjects);
    this.out = new StepWriter(fact);
  }

  get fact(): Fact {
    return this.out.fact;
  }

  get isOpen(): boolean {
    return this.#self !== undefined;
  }

  get self(): S {
    if (!this.#self) throw new EventRefused(`the ${this.#kit.descriptor.name} has not been opened`);
    return this.#self;
  }

  open(self: S): void {
    this.#self = self;
  }

  patch(patch: Patch<S>): void {
    this.#self = patched(this.self, patch);
  }

  subject(id: string | undefined): U | undefined {
    return id === undefined ? undefined : this.#subjects.get(id);
  }

  all(): U[] {
    return this.#subjects.all().toSorted(inOrder);
  }

  count(status: string): number {
    let count = this.#before.counts.get(status) ?? 0;
    for (const [before, now] of this.#subjects.written())
      count += Number(now?.status === status) - Number(before?.status === status);
    return count;
  }

  /** The subject that waits for an ask, checks or a timer; undefined if it is the session, or nobody. */
  waitingFor(waits_for: string): string | undefined {
    return this.#before.waiting.get(waits_for);
  }

  patchSubject(id: string, patch: Patch<U>): void {
    this.#subjects.patch(id, patch);
  }

  /** Adds a subject in its first status. */
  create(own: NewSubject<U>, order: number): void {
    const { descriptor, lifecycles } = this.#kit;
    const status = lifecycles.subject.initial;
    const { id } = own as Pick<Subject, "id">;
    this.#subjects.put(id, { ...own, order, status, since: this.fact.received_at } as unknown as U);
    this.out.created(id, descriptor.events.created, status);
  }

  /** Applies an event to a subject's machine. */
  move(id: string, event: string, reason?: string): void {
    const { descriptor, lifecycles } = this.#kit;
    const subject = this.#subjects.needed(id);
    const status = this.out.moved(lifecycles.subject, `the ${descriptor.subject}`, subject, event, reason);
    this.#subjects.patch(id, { status, since: this.fact.received_at, reason } as Patch<Subject> as Patch<U>);
  }

  /** Whether a subject's status accepts an event. */
  accepts({ status }: Pick<Subject, "status">, event: string): boolean {
    return accepts(this.#kit.descriptor.states, status, event);
  }

  /** Applies an event to the session's machine. */
  go(event: string): void {
    const { descriptor, lifecycles } = this.#kit;
    const phase = accepted(lifecycles.session, `the ${descriptor.name}`, this.self.phase, event);
    this.patch({ phase } as Patch<Self> as Patch<S>);
  }

  holder(id: string | undefined): Holder | undefined {
    return id === undefined ? this.self : this.subject(id);
  }

  patchHolder(id: string | undefined, patch: Patch<Self & Subject>): void {
    if (id === undefined) this.patch(patch as Patch<S>);
    else this.patchSubject(id, patch as Patch<U>);
  }

  /** Offers a turn. */
  offer(id?: string, tries: Tries = { retries: 0 }): void {
    const { events } = this.#kit.descriptor;
    const one = this.subject(id);
    if (one && this.accepts(one, events.asked)) this.move(one.id, events.asked);
    const { seat, message } = this.#kit.rules.seat(this.self, this.subject(id));
    const about = defined({ subject: id });
    offerTurn(this, id, { ...tries, message }, { seat, ...about, priority: 1, attempt: tries.retries + 1 });
  }

  /** Sends the message that was kept for `waits_for`, if there is one. */
  putAgain(id: string | undefined, waits_for: string): void {
    const holder = this.holder(id);
    if (holder?.put_again && holder.waits_for === waits_for) this.offer(id, holder.put_again);
  }

  /** Closes the session: withdraws what is open, drops the subjects that are not over, and reports how it ended. */
  finish(outcome: Outcome, reason?: string): void {
    const { presentation, events } = this.#kit.descriptor;
    for (const { id, status } of this.all()) {
      withdraw(this, id, CLOSING);
      const isDone = shownStatus(presentation, status).stage === "done";
      if (!isDone && this.accepts({ status }, events.left)) this.move(id, events.left, reason);
    }
    withdraw(this, undefined, CLOSING);
    this.go("finished");
    this.patch({ ended: { outcome, ...defined({ reason }) } } as Patch<Self> as Patch<S>);
    this.close();
  }

  /** Reports a session that has ended, again if it was reopened without effect. */
  close(): void {
    const { descriptor, rules } = this.#kit;
    const { ended = { outcome: "failed" }, opened } = this.self;
    const report = {
      requirement: from(opened, `/input/${descriptor.requirement}`),
      tickets: [],
      result: rules.result(this),
      next_steps: [ended.outcome === "done" ? "bosun replay --verify" : "bosun log"],
    };
    this.out.command({ do: "finish", ...ended, report });
  }

  step(): Step {
    const self = this.#self === this.#before.self || !this.#self ? [] : [put(SELF, SELF, this.#self)];
    return this.out.step([...self, ...this.#subjects.changes()]);
  }
}

const CLOSING = "the session is closing";
