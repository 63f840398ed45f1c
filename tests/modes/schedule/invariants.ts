import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import { isLate, ownStep } from "../../../src/kernel/accounting.ts";
import type { Advance, Engine } from "../../../src/kernel/engine.ts";
import { applyToLedger, emptyLedger, LEDGER_COLLECTIONS, type Ledger } from "../../../src/kernel/ledger.ts";
import type { Change, Command, Fact } from "../../../src/kernel/mode.ts";
import { type Lookup, resolve } from "../../../src/kernel/references.ts";
import { canonicalJson } from "../../../src/lib/canonical.ts";
import type { Json, JsonObject } from "../../../src/lib/json.ts";
import { apply } from "../../../src/modes/schedule/apply.ts";
import { decide } from "../../../src/modes/schedule/decide.ts";
import { request } from "../../../src/modes/schedule/request.ts";
import { SCHEDULE_RIGHTS } from "../../../src/modes/schedule/rights.ts";
import {
  empty,
  type MessageType,
  type Place,
  planOrder,
  type ScheduleState,
  type Ticket,
} from "../../../src/modes/schedule/state.ts";
import { digestOf } from "../../../src/modes/schedule/tasks.ts";
import { type TicketEvent, type TicketStatus, ticketLifecycle } from "../../../src/modes/schedule/ticket.machine.ts";
import { validatePayload } from "../../../src/protocol/envelope.ts";
import { isNotice, type PayloadType, type Task } from "../../../src/protocol/payload.ts";
import { permits } from "../../../src/protocol/rights.ts";

/** What must be true of a schedule session after each fact, whatever the fact. */
export class Invariants {
  readonly #engine: Engine<ScheduleState>;
  readonly #lookup: Lookup;
  readonly #rows = new Map<string, Extract<Change, { put: string }>>();
  readonly #statuses = new Map<string, TicketStatus>();
  readonly #random = generator(7);
  /** The state as a scheduler that took the session up would have it. */
  #loaded = empty();
  #told = "";
  /** The message of the turn that the fact belongs to. */
  #message: MessageType | undefined;
  #reopened = false;

  constructor(engine: Engine<ScheduleState>, lookup: Lookup) {
    this.#engine = engine;
    this.#lookup = lookup;
  }

  /** A scheduler that has just loaded the session asks and decides the same, or a recovered session would not verify. */
  before(fact: Fact): void {
    const { turn } = fact;
    this.#told = "";
    const { session, tickets } = this.#engine.state;
    this.#message = (fact.subject === undefined ? session : tickets.get(fact.subject))?.turn?.message;
    if (fact.payload_type === "turn_request" && turn && this.#engine.ledger.turns.has(turn.turn_id)) {
      same(request(this.#loaded, turn), request(this.#engine.state, turn), "the request after loading");
    }
    const { ledger } = this.#engine;
    if (!isLate(ledger, fact) && !ownStep(ledger, fact)) this.#told = JSON.stringify(decide(this.#loaded, fact));
  }

  after(fact: Fact, done: Advance): void {
    if (this.#told !== "") {
      const told = JSON.parse(this.#told) as Advance["step"];
      // The engine's own questions come after all that the mode says.
      const commands = done.step.commands.slice(0, told.commands.length);
      same(told, JSON.parse(JSON.stringify({ ...done.step, commands })), "the step after loading");
    }
    this.#checkRights(fact, done);
    this.#followEffects(done);
    this.#keepRows(done.changes);
    this.#rebuild();
    this.#checkEnvelopes(done);
    this.#checkReport(fact, done.step.commands);
    const { state, ledger } = this.#engine;
    if (!state.session) return;
    checkIndexes(state);
    checkHolders(state, ledger);
    this.#checkPlan();
    checkLimits(state);
    checkEvidence(state, done);
    this.#checkProgress(fact, done);
  }

  /** What an agent said and was applied was its to say. */
  #checkRights(fact: Fact, { disposition }: Advance): void {
    if (!fact.turn || fact.source === "scheduler" || disposition !== "applied" || isNotice(fact)) return;
    const sender = this.#message === "instruction" || this.#message === "instruction_proposal" ? "worker" : "manager";
    const permitted = permits(SCHEDULE_RIGHTS, sender, fact.payload_type, this.#message);
    holds(permitted, `a ${sender} may not answer ${this.#message} with ${fact.payload_type}`);
  }

  /** Each effect starts where the ticket was, and is an arrow of its machine. */
  #followEffects({ step }: Advance): void {
    for (const { subject, from, event, to } of step.effects) {
      if (from === null) {
        same([event, to], ["created", ticketLifecycle.initial], `how ${subject} begins`);
      } else {
        same(from, this.#statuses.get(subject), `where ${subject} was before ${event}`);
        same(to, ticketLifecycle.next(from as TicketStatus, event as TicketEvent), `where ${event} leads ${subject}`);
      }
      this.#statuses.set(subject, to as TicketStatus);
    }
    const { tickets } = this.#engine.state;
    for (const [id, { status }] of tickets) same(status, this.#statuses.get(id), `where the effects led ${id}`);
  }

  #keepRows(changes: readonly Change[]): void {
    for (const change of changes) {
      const text = canonicalJson(change);
      const stored = JSON.parse(text) as Change;
      same(stored, change, "a change after storing");
      if ("put" in stored) this.#rows.set(`${stored.put} ${stored.id}`, stored);
      else this.#rows.delete(`${stored.drop} ${stored.id}`);
    }
  }

  /** Rows in any order give the state as it is, its indexes too: that is what loading does. */
  #rebuild(): void {
    const state = empty();
    const ledger = emptyLedger();
    for (const row of shuffled([...this.#rows.values()], this.#random)) {
      if (LEDGER_COLLECTIONS.has(row.put)) applyToLedger(ledger, row);
      else apply(state, row);
    }
    this.#loaded = state;
    same(plainState(state), plainState(this.#engine.state), "the state loaded from rows");
    same(plainLedger(ledger), plainLedger(this.#engine.ledger), "the ledger loaded from rows");
  }

  /** What the mode writes is what the scheduler may say, and fits its schema. */
  #checkEnvelopes({ envelopes, step }: Advance): void {
    for (const { payload_type, payload } of envelopes) {
      holds(permits(SCHEDULE_RIGHTS, "scheduler", payload_type), `the scheduler may not say ${payload_type}`);
      valid(payload_type, resolve(payload, this.#lookup));
    }
    holds(!step.refused || envelopes[0]?.payload_type === "error", "whoever is refused is not told");
  }

  #checkReport(fact: Fact, commands: readonly Command[]): void {
    const ends = commands.filter((command) => command.do === "finish");
    holds(ends.length < 2, "a session ends once");
    const [end] = ends;
    if (!end) return;
    const report = {
      ...(resolve(end.report, this.#lookup) as JsonObject),
      session_id: "s",
      mode: "schedule",
      outcome: end.outcome,
      ...(end.reason === undefined ? {} : { reason: end.reason }),
      started_at: fact.received_at,
      finished_at: fact.received_at,
      usage: { turns: 0, input_tokens: 0, output_tokens: 0, cost_usd: null },
      recoveries: 0,
      log: { records: 1, head: `sha256:${"0".repeat(64)}` },
    };
    valid("final_report", report);
  }

  /** The tickets are those of the plan that counts, as it has them, and those that a plan left out. */
  #checkPlan(): void {
    const { session, tickets } = this.#engine.state;
    if (!session?.plan) return;
    const planned = tasksAt(this.#lookup, session.plan).map((task, order) => [task.task_id, order, digestOf(task)]);
    const kept = [...tickets.values()].filter(({ unplanned }) => !unplanned).toSorted(planOrder);
    same(
      kept.map(({ id, order, digest }) => [id, order, digest]),
      planned,
      "what the plan that counts has",
    );
  }

  /** Nothing is lost: each ticket is over, or something will move it; a session at work is not over. */
  #checkProgress(fact: Fact, { disposition }: Advance): void {
    const { state, ledger } = this.#engine;
    const { session, tickets } = state;
    if (!session) return;
    if (fact.payload_type === "session_reopened") this.#reopened = true;
    else if (disposition === "applied") this.#reopened = false;
    if (session.phase === "closed") {
      const { turns, timers, asks, checks, children } = ledger;
      same(
        [turns.size, timers.size, asks.size, checks.size, children.size],
        [0, 0, 0, 0, 0],
        "what is open in a closed session",
      );
      for (const ticket of tickets.values())
        holds(isOver(state, ticket), `${ticket.id} is ${ticket.status} and closed`);
      return;
    }
    // A session that was just reopened waits for the command that it was reopened for.
    if (this.#reopened || (!session.plan && (session.plan_given || !session.requirement))) return;
    for (const ticket of tickets.values()) {
      const waits =
        ticket.turn ||
        ticket.waits_for ||
        (ticket.status === "pending" && (ticket.gated || (state.unmet.get(ticket.id) ?? 0) > 0));
      holds(Boolean(waits) || isOver(state, ticket), `${ticket.id} is ${ticket.status} and nothing will move it`);
      const approved = ticket.gated ? session.gate : ticket.waits_for !== "revision" || session.gate?.revision;
      holds(approved, `${ticket.id} waits for an approval that nobody is asked for`);
    }
    const stopped = session.phase === "stopped" || session.phase === "waiting" || ledger.figures.stopping === true;
    const moving =
      ledger.turns.size +
      ledger.asks.size +
      ledger.checks.size +
      ledger.children.size +
      [...ledger.timers.values()].filter((timer) => !timer.passive).length;
    holds(moving > 0 || stopped, `nothing is open and nothing is finished (${session.phase})`);
    const over = session.phase === "running" && [...tickets.values()].every((ticket) => isOver(state, ticket));
    holds(!over, "every ticket is over, but the session is not");
  }
}

/** The tasks of the plan that stands there: one that was approved as a person edited it stands in the approval. */
export function tasksAt(lookup: Lookup, [sequence, pointer]: Place): readonly Task[] {
  const { payload } = lookup.record(sequence);
  return ((pointer === "/plan" ? payload["plan"] : payload) as { tasks: Task[] }).tasks;
}

function isOver(state: ScheduleState, ticket: Ticket): boolean {
  return ticket.status === "done" || ticket.status === "error" || state.blockedByError.has(ticket.id);
}

/** The indexes, counted again in the plainest way. */
function checkIndexes(state: ScheduleState): void {
  const { tickets } = state;
  const blockedByError = new Set<string>();
  for (let grown = -1; grown !== blockedByError.size; ) {
    grown = blockedByError.size;
    for (const { id, status, depends_on } of tickets.values()) {
      const lost = depends_on.some((one) => tickets.get(one)?.status === "error" || blockedByError.has(one));
      if (lost && status !== "error" && status !== "done") blockedByError.add(id);
    }
  }
  same([...state.blockedByError].sort(), [...blockedByError].sort(), "who waits for a ticket in error");
  for (const ticket of tickets.values()) {
    const unmet = ticket.depends_on.filter((one) => tickets.get(one)?.status !== "done").length;
    same(state.unmet.get(ticket.id), unmet, `the unmet dependencies of ${ticket.id}`);
  }
}

/** What is waited for that the ledger has no account of. */
const NOBODY_COUNTS = new Set(["resume", "revision"]);

/** Whoever holds a turn, a timer, a question or checks has them in the ledger, and the ledger has no others. */
function checkHolders(state: ScheduleState, ledger: Ledger): void {
  const { session } = state;
  if (!session) return;
  const turns: string[] = [];
  const waits: string[] = [];
  const holders = [
    { subject: undefined, holder: session },
    ...[...state.tickets.values()].map((ticket) => ({ subject: ticket.id, holder: ticket })),
  ];
  for (const { subject, holder } of holders) {
    if (holder.turn) turns.push(`${holder.turn.turn_id} ${subject}`);
    if (holder.waits_for !== undefined && !NOBODY_COUNTS.has(holder.waits_for)) waits.push(holder.waits_for);
    holds(!holder.turn || !holder.waits_for, `${subject ?? "the session"} holds a turn and waits`);
  }
  if (session.gate && session.phase === "approving") waits.push(session.gate.ask_id);
  same(
    turns.sort(),
    [...ledger.turns.values()].map((turn) => `${turn.turn_id} ${turn.subject}`).sort(),
    "the turns that the mode and the ledger know",
  );
  const alarms = [...ledger.timers].flatMap(([id, timer]) => (timer.passive ? [] : [id]));
  // What a stop interrupts is still asked.
  const resting = session.phase === "stopped" || session.phase === "waiting";
  const asks = [...ledger.asks.keys()].filter(
    (id) => !(resting && id === session.gate?.ask_id) && ledger.turns.get(id)?.status !== "asked",
  );
  const children = [...ledger.children.values()];
  // One that is broken off is waited for to its end, or not at all.
  const broken = children.filter(({ child, status }) => status === "withdrawn" && !waits.includes(`s${child}`));
  const awaited = children.filter((child) => !broken.includes(child)).map(({ child }) => `s${child}`);
  same(
    waits.sort(),
    [...alarms, ...asks, ...ledger.checks.keys(), ...awaited].sort(),
    "what the mode waits for and the ledger knows",
  );
  const unanswered = [...state.questions.values()].filter((set) => !set.closed).map((set) => set.id);
  same(
    unanswered.sort(),
    waits.filter((id) => state.questions.has(id)).sort(),
    "the open question sets and who waits for them",
  );
}

function checkLimits(state: ScheduleState): void {
  const settings = state.session?.settings;
  for (const ticket of state.tickets.values()) {
    const { retries = 0, escalations = 0, check_rounds = 0, review_rounds = 0 } = ticket;
    if (!settings) return;
    holds(retries <= settings.max_retries, `${ticket.id}: ${retries} retries`);
    holds(escalations <= settings.max_escalations, `${ticket.id}: ${escalations} escalations`);
    holds(check_rounds <= settings.check_rounds, `${ticket.id}: ${check_rounds} check rounds`);
    holds(review_rounds <= settings.max_review_rounds, `${ticket.id}: ${review_rounds} review rounds`);
  }
}

/** No ticket is done without its executable criteria having passed. */
function checkEvidence(state: ScheduleState, { step }: Advance): void {
  for (const { subject, to } of step.effects) {
    const ticket = state.tickets.get(subject);
    const unproved = to === "done" && (ticket?.criteria?.length ?? 0) > 0 && ticket?.checks_passed !== true;
    holds(!unproved, `${subject} is done without its checks having passed`);
  }
}

function plainState(state: ScheduleState): Json {
  return JSON.parse(
    JSON.stringify({
      session: state.session ?? null,
      tickets: sorted(state.tickets),
      questions: sorted(state.questions),
      counts: sorted(state.counts).filter(([, count]) => count !== 0),
      dependents: sorted(state.dependents)
        .filter(([, ids]) => ids.size > 0)
        .map(([id, ids]) => [id, [...ids].sort()]),
      unmet: sorted(state.unmet),
      blockedByError: [...state.blockedByError].sort(),
      underway: [...state.underway].sort(),
    }),
  ) as Json;
}

function plainLedger(ledger: Ledger): Json {
  const { turns, timers, asks, checks, children, holds, uses, admissions, terms, figures } = ledger;
  const plain = {
    turns: sorted(turns),
    timers: sorted(timers),
    asks: sorted(asks),
    checks: sorted(checks),
    children: sorted(children),
    holds: sorted(holds),
    uses: sorted(uses),
    admissions: sorted(admissions),
    terms,
    figures,
  };
  return JSON.parse(JSON.stringify(plain)) as Json;
}

function sorted<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

function holds(condition: unknown, otherwise: string): void {
  if (!condition) throw new Error(otherwise);
}

function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new AssertionError({ message: `${what} is not as expected`, actual, expected, operator: "deepStrictEqual" });
  }
}

function valid(type: PayloadType, payload: unknown): void {
  const checked = validatePayload(type, payload);
  if (!checked.ok) throw new Error(`not a valid ${type}: ${JSON.stringify(checked.error)}`);
}

function shuffled<T>(list: T[], random: () => number): T[] {
  for (let index = list.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other] as T, list[index] as T];
  }
  return list;
}

/** A small generator of numbers in [0, 1) that gives the same ones for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
