import type { Holders } from "../../kernel/kit/holder.ts";
import { accepted, put, StepWriter, Values } from "../../kernel/kit/step-writer.ts";
import type { Fact, ReadonlyState, Step } from "../../kernel/mode.ts";
import { EventRefused, type Patch, patched } from "../../kernel/step.ts";
import { BUDGET_TIMER } from "./budget.ts";
import { type SessionEvent, sessionLifecycle } from "./session.machine.ts";
import {
  type Holder,
  type MessageType,
  type OpenTurn,
  planOrder,
  type QuestionSet,
  type ScheduleState,
  type SessionValue,
  type Ticket,
} from "./state.ts";
import { type TicketEvent, ticketLifecycle } from "./ticket.machine.ts";

/** Maximum number of a ticket's records in `context.history[]`: the latest ones, and always the current instruction. */
const HISTORY_LENGTH = 20;

/** A step under construction. Reads see earlier writes. */
export class Draft implements Holders<MessageType> {
  readonly out: StepWriter;
  /** The state before the step, for its indexes. */
  readonly before: ReadonlyState<ScheduleState>;
  readonly tickets: Values<Ticket>;
  readonly questions: Values<QuestionSet>;
  #session: SessionValue | undefined;
  /** The turn that the fact ends. Its holder no longer has it. */
  answered: OpenTurn | undefined;
  /** Tickets that reached `done` or `error` in this step. */
  readonly closed = new Map<string, "done" | "error">();
  /** Set if this step adopted a plan, so that the indexes of the state before it no longer describe the tickets. */
  replanned = false;
  /** Tickets that could not be offered a turn in this step, because their budget or their attempts are spent. */
  readonly exhausted = new Set<string>();

  constructor(before: ReadonlyState<ScheduleState>, fact: Fact) {
    this.before = before;
    this.out = new StepWriter(fact);
    this.tickets = new Values("ticket", before.tickets);
    this.questions = new Values("question", before.questions);
    this.#session = before.session;
  }

  get fact(): Fact {
    return this.out.fact;
  }

  get session(): SessionValue {
    if (!this.#session) throw new EventRefused("the session has not been opened");
    return this.#session;
  }

  open(session: SessionValue): void {
    this.#session = session;
  }

  patchSession(patch: Patch<SessionValue>): void {
    this.#session = patched(this.session, patch);
  }

  ticket(id: string | undefined): Ticket | undefined {
    return id === undefined ? undefined : this.tickets.get(id);
  }

  holder(id: string | undefined): Holder | undefined {
    return id === undefined ? this.session : this.ticket(id);
  }

  patchHolder(id: string | undefined, patch: Patch<Ticket & SessionValue>): void {
    if (id === undefined) this.patchSession(patch);
    else this.tickets.patch(id, patch);
  }

  /** Applies an event to a ticket's state machine. */
  move(id: string, event: TicketEvent, reason?: string): Ticket {
    const ticket = this.tickets.needed(id);
    const status = this.out.moved(ticketLifecycle, "ticket", ticket, event, reason);
    if (status === "done" || status === "error") {
      this.closed.set(id, status);
      this.stopTime(ticket);
    }
    if (this.session.ended) this.patchSession({ ended: undefined });
    return this.tickets.patch(id, {
      status,
      since: this.fact.received_at,
      reason,
      ...(status === "error" ? { gated: undefined } : {}),
      ...(status === "blocked" && ticket.status === "awaiting_review" ? { delivered: true } : {}),
      ...(ticket.delivered ? { delivered: undefined } : {}),
    });
  }

  moveSession(event: SessionEvent): void {
    this.patchSession({ phase: accepted(sessionLifecycle, "the session", this.session.phase, event) });
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
    this.tickets.patch(id, { history: [...before, sequence] });
  }

  /** Clears the timer of a ticket's time budget. Its next turn sets it again. */
  stopTime({ id, allowance }: Ticket): void {
    if (allowance?.wall_s !== undefined) this.out.command({ do: "clear_timer", timer_id: BUDGET_TIMER + id });
  }

  /** Every ticket as the step leaves it, in plan order. */
  all(): Ticket[] {
    return this.tickets.all().toSorted(planOrder);
  }

  /** These tickets as the step leaves them, in plan order. */
  inOrder(ids: Iterable<string>): Ticket[] {
    return [...ids].flatMap((id) => this.ticket(id) ?? []).toSorted(planOrder);
  }

  step(): Step {
    const session = this.#session;
    const own = session && session !== this.before.session ? [put("session", "session", session)] : [];
    return this.out.step([...own, ...this.tickets.changes(), ...this.questions.changes()]);
  }
}
