import type { Change, Command, EnvelopeDraft, Fact, ReadonlyState, Step, TurnId } from "../../kernel/mode.ts";
import { EventRefused, notPermitted, type Patch, patched, turnId } from "../../kernel/step.ts";
import { defined, type Json } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Effect } from "../../protocol/recording.ts";
import { later } from "../../protocol/timestamp.ts";
import { BUDGET_TIMER } from "./budget.ts";
import { type SessionEvent, sessionLifecycle } from "./session.machine.ts";
import {
  type Holder,
  planOrder,
  type OpenTurn,
  type QuestionSet,
  type ScheduleState,
  type SessionValue,
  type Ticket,
} from "./state.ts";
import { type TicketEvent, ticketLifecycle } from "./ticket.machine.ts";

/** Maximum number of a ticket's records in `context.history[]`: the latest ones, and always the current instruction. */
const HISTORY_LENGTH = 20;

/** A step under construction. Reads see earlier writes; several writes to one value become one change. */
export class Draft {
  readonly fact: Fact;
  readonly #state: ReadonlyState<ScheduleState>;
  readonly #envelopes: EnvelopeDraft[] = [];
  readonly #effects: Effect[] = [];
  readonly #commands: Command[] = [];
  readonly #tickets = new Map<string, Ticket>();
  readonly #questions = new Map<string, QuestionSet>();
  readonly #dropped = new Set<string>();
  #session: SessionValue | undefined;
  #refused: Failure | undefined;
  #turns = 0;
  /** The turn that the fact ends. Its holder no longer has it. */
  answered: OpenTurn | undefined;
  /** Tickets that reached `done` or `error` in this step. */
  readonly closed = new Map<string, "done" | "error">();
  /** Set if this step adopted a plan, so that the indexes of the state before it no longer describe the tickets. */
  replanned = false;
  /** Tickets that could not be offered a turn in this step, because their budget or their attempts are spent. */
  readonly exhausted = new Set<string>();

  constructor(state: ReadonlyState<ScheduleState>, fact: Fact) {
    this.#state = state;
    this.fact = fact;
    this.#session = state.session;
  }

  /** The state before the step, for its indexes. */
  get before(): ReadonlyState<ScheduleState> {
    return this.#state;
  }

  get session(): SessionValue {
    if (!this.#session) throw new EventRefused("the session has not been opened");
    return this.#session;
  }

  ticket(id: string | undefined): Ticket | undefined {
    if (id === undefined) return undefined;
    const put = this.#tickets.get(id);
    if (put || this.#dropped.has(id)) return put;
    return this.#state.tickets.get(id);
  }

  questions(id: string): QuestionSet | undefined {
    return this.#questions.get(id) ?? this.#state.questions.get(id);
  }

  putSession(value: SessionValue): void {
    this.#session = value;
  }

  patchSession(patch: Patch<SessionValue>): void {
    this.putSession(patched(this.session, patch));
  }

  putTicket(ticket: Ticket): void {
    this.#tickets.set(ticket.id, ticket);
  }

  patchTicket(id: string, patch: Patch<Ticket>): Ticket {
    const ticket = this.ticket(id);
    if (!ticket) throw new EventRefused(`there is no ticket "${id}"`);
    const next = patched(ticket, patch);
    this.putTicket(next);
    return next;
  }

  /** The ticket, or the session if `id` is absent. */
  holder(id: string | undefined): Holder | undefined {
    return id === undefined ? this.session : this.ticket(id);
  }

  patchHolder(id: string | undefined, patch: Patch<Holder>): void {
    if (id === undefined) this.patchSession(patch);
    else this.patchTicket(id, patch);
  }

  dropTicket(id: string): void {
    this.#tickets.delete(id);
    this.#dropped.add(id);
  }

  putQuestions(set: QuestionSet): void {
    this.#questions.set(set.id, set);
  }

  /** Applies an event to a ticket's state machine, and records the effect. */
  move(id: string, event: TicketEvent, reason?: string): Ticket {
    const ticket = this.ticket(id);
    if (!ticket) throw new EventRefused(`there is no ticket "${id}"`);
    const to = ticketLifecycle.next(ticket.status, event);
    if (to === undefined)
      throw new EventRefused(`ticket "${id}" is ${ticket.status}, which does not accept "${event}"`);
    this.#effects.push({ subject: id, from: ticket.status, event, to, ...defined({ reason }) });
    if (to === "done" || to === "error") {
      this.closed.set(id, to);
      this.stopTime(ticket);
    }
    if (this.session.ended) this.patchSession({ ended: undefined });
    return this.patchTicket(id, {
      status: to,
      since: this.fact.received_at,
      reason,
      ...(to === "error" ? { gated: undefined } : {}),
      ...(to === "blocked" && ticket.status === "awaiting_review" ? { delivered: true } : {}),
      ...(ticket.delivered ? { delivered: undefined } : {}),
    });
  }

  created(id: string): void {
    this.#effects.push({ subject: id, from: null, event: "created", to: "pending" });
  }

  moveSession(event: SessionEvent): void {
    const to = sessionLifecycle.next(this.session.phase, event);
    if (to === undefined)
      throw new EventRefused(`the session is ${this.session.phase}, which does not accept "${event}"`);
    this.patchSession({ phase: to });
  }

  /** Adds a record to the ticket's history: the fact, or one that it leads to. It replaces the record `instead`, if given. */
  remember(id: string, sequence = this.fact.sequence, instead?: number): void {
    const ticket = this.ticket(id);
    if (!ticket) return;
    const { instruction } = ticket;
    const history = (ticket.history ?? []).filter((earlier) => earlier !== instead);
    const latest = history.slice(1 - HISTORY_LENGTH);
    // An agent without memory needs the current instruction, however old it is.
    const kept = history.find((earlier) => earlier === instruction?.[0]);
    const before = kept === undefined || latest.includes(kept) ? latest : [kept, ...latest.slice(1)];
    this.patchTicket(id, { history: [...before, sequence] });
  }

  /** Adds an envelope. Returns the sequence of its record: a refusal, if there is one, is recorded before the envelopes. */
  envelope(draft: EnvelopeDraft): number {
    this.#envelopes.push(draft);
    return this.fact.sequence + (this.#refused ? 1 : 0) + this.#envelopes.length;
  }

  command(command: Command): void {
    this.#commands.push(command);
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

  /** Clears the timer of a ticket's time budget. Its next turn sets it again. */
  stopTime({ id, allowance }: Ticket): void {
    if (allowance?.wall_s !== undefined) this.command({ do: "clear_timer", timer_id: BUDGET_TIMER + id });
  }

  setTimer(timer_id: string, delay_ms: number, passive = false): void {
    this.#commands.push({
      do: "set_timer",
      timer_id,
      due_at: later(this.fact.received_at, delay_ms),
      ...(passive ? { passive } : {}),
    });
  }

  /** Every ticket as the step leaves it, in plan order. */
  all(): Ticket[] {
    const tickets: Ticket[] = [];
    for (const id of this.before.tickets.keys()) {
      if (!this.#dropped.has(id)) tickets.push(this.ticket(id) as Ticket);
    }
    for (const ticket of this.#tickets.values()) {
      if (this.#dropped.has(ticket.id) || !this.before.tickets.has(ticket.id)) tickets.push(ticket);
    }
    return tickets.toSorted(planOrder);
  }

  /** These tickets as the step leaves them, in plan order. */
  inOrder(ids: Iterable<string>): Ticket[] {
    return [...ids].flatMap((id) => this.ticket(id) ?? []).toSorted(planOrder);
  }

  #changes(): Change[] {
    const changes: Change[] = [];
    if (this.#session && this.#session !== this.#state.session) changes.push(put("session", "session", this.#session));
    for (const id of this.#dropped) if (!this.#tickets.has(id)) changes.push({ drop: "ticket", id });
    for (const [id, ticket] of this.#tickets) changes.push(put("ticket", id, ticket));
    for (const [id, set] of this.#questions) changes.push(put("question", id, set));
    return changes;
  }

  step(): Step {
    return {
      changes: this.#changes(),
      envelopes: this.#envelopes,
      effects: this.#effects,
      commands: this.#commands,
      ...defined({ refused: this.#refused }),
    };
  }
}

function put(collection: string, id: string, value: object): Change {
  return { put: collection, id, value: value as Json };
}
