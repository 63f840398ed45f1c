import { defined, type JsonObject } from "../../lib/json.ts";
import type { Question } from "../../protocol/payload.ts";
import type { Fact, OpenSession, Outcome, RunChecks, Step } from "../mode.ts";
import { isOver } from "../presentation.ts";
import { from } from "../references.ts";
import { EventRefused, type Patch, patched } from "../step.ts";
import { aboutCommands, askAboutCommands, type CheckCommand } from "./commands.ts";
import { accepts, type Descriptor } from "./descriptor.ts";
import { type Holders, MODE_TIMER, offerTurn, type Tries, waitingForSession, withdraw } from "./holder.ts";
import type { Lifecycles } from "./lifecycles.ts";
import { askFor, type QuestionSet } from "./questions.ts";
import {
  type Asking,
  inOrder,
  isHolding,
  type KitState,
  type NewSubject,
  SELF,
  type Self,
  type Subject,
  type View,
} from "./state.ts";
import { accepted, put, StepWriter, Values } from "./step-writer.ts";
import { SAID, type Said, saidIn } from "./views.ts";

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
  #said: Said | undefined;

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

  said(): Said[] {
    return [...this.#before.said.values(), ...(this.#said ? [this.#said] : [])];
  }

  count(status: string): number {
    let count = this.#before.counts.get(status) ?? 0;
    for (const [before, now] of this.#subjects.written())
      count += Number(now?.status === status) - Number(before?.status === status);
    return count;
  }

  /** Whether nobody is asked and nothing is awaited. */
  get isIdle(): boolean {
    let { holding } = this.#before;
    for (const [before, now] of this.#subjects.written()) holding += Number(isHolding(now)) - Number(isHolding(before));
    return holding === 0 && !isHolding(this.self);
  }

  /** The questions that a person has not answered, with the subject that waits for them. */
  openQuestions(): (QuestionSet & { readonly subject: string | undefined })[] {
    return [undefined, ...this.#before.waiting.values()].flatMap((subject) => {
      const { waits_for, questions = [] } = this.holder(subject) ?? {};
      const set = questions.at(-1);
      return set && set.id === waits_for ? [{ ...set, subject }] : [];
    });
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

  holder(id: string | undefined): S | U | undefined {
    return id === undefined ? this.self : this.subject(id);
  }

  patchHolder(id: string | undefined, patch: Patch<Self & Subject>): void {
    if (id === undefined) this.patch(patch as Patch<S>);
    else this.patchSubject(id, patch as Patch<U>);
  }

  /** Offers a turn. Those who get one in the same step answer independently: `Question.view` shows none of them what another says. */
  offer(id?: string, tries: Tries = { retries: 0 }): void {
    const { events, lines } = this.#kit.descriptor;
    const one = this.subject(id);
    if (one && this.accepts(one, events.asked)) this.move(one.id, events.asked);
    const { seat, message } = this.#kit.rules.seat(this.self, this.subject(id));
    const { as_of = this.fact.sequence } = tries;
    const about = defined({ subject: id });
    offerTurn(
      this,
      id,
      { ...tries, message, ...(lines ? { as_of } : {}) },
      { seat, ...about, priority: 1, attempt: tries.retries + 1 },
    );
  }

  /** Sends the message that was kept for `waits_for`, if there is one. */
  putAgain(id: string | undefined, waits_for: string): void {
    const holder = this.holder(id);
    if (holder?.put_again && holder.waits_for === waits_for) this.offer(id, holder.put_again);
  }

  /** Asks a person. The answer is in `context.clarifications` of later turns too. */
  ask(id: string | undefined, question: Omit<Question, "question_id">): void {
    this.#mustBeFree(id);
    const payload = { questions: [{ question_id: "q1", ...question }], status: "open" };
    const about = defined({ subject: id });
    const record = this.out.envelope({ target: "user", payload_type: "clarification", payload, ...about });
    this.patchHolder(id, { waits_for: this.putQuestions(id, record, ["q1"]) });
  }

  /** Puts the questions of a record to a person. Returns the id of the ask. */
  putQuestions(id: string | undefined, record: number, questions: readonly string[]): string {
    const asked = (this.self.asked ?? 0) + 1;
    const set = { id: `c${asked}`, record, pointer: "/questions", questions, answers: questions.map(() => null) };
    this.patch({ asked } as Patch<Self> as Patch<S>);
    this.patchHolder(id, { questions: [...(this.holder(id)?.questions ?? []), set] });
    this.out.command(askFor(set, id));
    return set.id;
  }

  /** Runs executable criteria; with an `input`, programs or functions that make another text of it. */
  runChecks(id: string | undefined, criteria: RunChecks["criteria"], input?: RunChecks["input"]): void {
    this.#mustBeFree(id);
    const check_id = this.out.nextChecks();
    this.patchHolder(id, { waits_for: check_id });
    this.out.command({ do: "run_checks", check_id, criteria, ...defined({ subject: id, input }) });
  }

  /** Puts on record which commands the session will have run. With `asks`, a person allows them first (`Rules.allowed`). */
  showCommands(
    commands: readonly CheckCommand[],
    { asks, why }: { readonly asks: boolean; readonly why: string },
  ): void {
    this.#mustBeFree(undefined);
    const ask_id = askAboutCommands(this.fact.sequence);
    const about = aboutCommands(`the ${this.#kit.descriptor.name}`, commands, why);
    const request = { subject: "permission", ask_id, about };
    const record = this.out.envelope({ target: "user", payload_type: "approval_request", payload: request });
    if (asks) {
      this.patchHolder(undefined, { waits_for: ask_id });
      return this.out.command({ do: "ask", ask_id, kind: "permission", record });
    }
    const payload = { decision: "approved", ask_id, scope: "session", notes: "the settings ask nobody" };
    this.out.envelope({ target: "user", payload_type: "approval", payload });
  }

  /** Begins a child session. A step can begin one, since its id is the fact's sequence. */
  openSession(id: string | undefined, session: Pick<OpenSession, "mode" | "input" | "budget">): void {
    this.#mustBeFree(id);
    const child = this.out.nextChild();
    this.patchHolder(id, { waits_for: waitingForSession(child) });
    this.out.command({ do: "open_session", child, ...session, ...defined({ subject: id }) });
  }

  #mustBeFree(id: string | undefined): void {
    if (isHolding(this.holder(id))) throw new Error(`${id ?? "the session"} holds a turn or waits already`);
  }

  /** Ends a wait. False if this is not what is waited for. */
  stopWaiting(id: string | undefined, waits_for: string): boolean {
    const isAwaited = this.holder(id)?.waits_for === waits_for;
    if (isAwaited) this.patchHolder(id, { waits_for: undefined });
    return isAwaited;
  }

  /** Sets a timer of the mode's own, anew if there is one of this name. With none it keeps running for no outsider; with a passive one its scheduler may leave, and waits as stopped. */
  setTimer(name: string, delay_ms: number, passive = false): void {
    this.out.setTimer(MODE_TIMER + name, delay_ms, passive);
  }

  clearTimer(name: string): void {
    this.out.command({ do: "clear_timer", timer_id: MODE_TIMER + name });
  }

  /** Keeps the fact for later prompts, if `lines` has its type. */
  keep(): void {
    this.#said = saidIn(this.#kit.descriptor.lines, this.fact);
  }

  /** Withdraws the turn, or ends what is waited for. */
  withdraw(id: string | undefined, reason: string): void {
    withdraw(this, id, reason);
  }

  /** Closes the session: withdraws what is open, drops the subjects that are not over, and reports how it ended. */
  finish(outcome: Outcome, reason?: string): void {
    const { presentation, events } = this.#kit.descriptor;
    for (const { id, status } of this.all()) {
      withdraw(this, id, CLOSING);
      const { closed = events.left } = events;
      const event = this.accepts({ status }, closed) ? closed : events.left;
      if (!isOver(presentation, status) && this.accepts({ status }, event)) this.move(id, event, reason);
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
    const said = this.#said ? [put(SAID, String(this.#said.sequence), this.#said)] : [];
    return this.out.step([...self, ...this.#subjects.changes(), ...said]);
  }
}

const CLOSING = "the session is closing";
