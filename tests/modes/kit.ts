import { type Advance, advance, type Engine } from "../../src/kernel/engine.ts";
import { emptyLedger, type LedgerChild, type LedgerTurn, stampOf } from "../../src/kernel/ledger.ts";
import {
  type Command,
  type Fact,
  type Mode,
  type Outcome,
  suits,
  type TurnDraft,
  type TurnStamp,
} from "../../src/kernel/mode.ts";
import { type Lookup, resolve } from "../../src/kernel/references.ts";
import { NOTHING } from "../../src/kernel/step.ts";
import { type SessionState, standingState } from "../../src/kernel/state.ts";
import { type JsonObject, textWithin } from "../../src/lib/json.ts";
import {
  CONFIGURATION_DEFAULTS,
  type PayloadByType,
  type PayloadType,
  type ResolvedConfiguration,
  type Usage,
} from "../../src/protocol/payload.ts";
import type { Actor, UnsealedRecord } from "../../src/protocol/record.ts";
import type { Effect } from "../../src/protocol/recording.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { later, milliseconds } from "../../src/protocol/timestamp.ts";
import { closingRecords } from "../../src/runtime/closing.ts";
import type { FactInput } from "../../src/runtime/facts.ts";
import { decidedRecord, factRecord } from "../../src/runtime/recordings.ts";
import { freeze, guard } from "./guard.ts";
import { Invariants, type ModeRules, valid } from "./invariants.ts";

const START = "2026-01-01T00:00:00Z";
const SECOND_MS = 1000;
const SESSION_ID = "s-1";

/** The person who sends what a user sends. */
export const PERSON: Actor = { user: "ada", host: "h", via: "cli" };

/** The defaults, without a budget and without a plan gate. */
export const CONFIG: ResolvedConfiguration = {
  ...CONFIGURATION_DEFAULTS,
  plan_approval: "never",
  workspace: "/project",
  budget: {},
};

export interface Opening {
  readonly roles: readonly Role[];
  readonly config?: Partial<ResolvedConfiguration> | undefined;
  readonly input?: JsonObject | undefined;
  readonly requirement?: string | undefined;
  /** Set if subjects work in copies of it. */
  readonly repository?: JsonObject | undefined;
  /** The checks take time in proportion to the state; measurements of large sessions do without them. */
  readonly unchecked?: boolean | undefined;
}

/** What a fact's channel knows about it. */
export interface Channel {
  readonly subject?: string | undefined;
  readonly turn?: TurnStamp;
  readonly at?: string;
  readonly usage?: Usage;
  readonly actor?: Actor;
  readonly work?: Fact["work"];
}

/** A turn in its agent's hands. */
export interface AdmittedTurn {
  readonly turn_id: string;
  readonly subject: string | undefined;
  /** The request as the agent gets it. */
  readonly request: PayloadByType["turn_request"];
  answer(payload_type: PayloadType, payload: JsonObject): void;
  /** Ends the turn without an answer. */
  fail(code?: string): void;
}

/**
 * A session of any mode, driven fact by fact through the engine in virtual time, without a runtime: each fact comes a second after
 * the one before it unless a timer says otherwise. The invariants are checked after each fact. Methods that submit a
 * fact return the session, so that calls can be chained; `last` is what the latest fact led to.
 */
export class ModeSession<S> {
  readonly engine: Engine<S>;
  /** As the runtime writes them. */
  readonly records: UnsealedRecord[] = [];
  readonly opening: JsonObject;
  last: Advance = { disposition: "applied", step: NOTHING, changes: [], envelopes: [], deltas: {} };
  /** The latest fact's sequence, whatever was recorded after it. */
  sequence = 0;
  readonly #roles: readonly Role[];
  readonly #invariants: Invariants<S> | undefined;
  #now = START;
  #finish: Extract<Command, { do: "finish" }> | undefined;

  constructor(
    mode: Mode<S>,
    rules: ModeRules<S>,
    { roles, config, input, requirement, repository, unchecked }: Opening,
  ) {
    const { state, reading } = guard(mode.empty() as S & object);
    const guarded: Mode<S> = {
      ...mode,
      decide: (now, fact) => reading(() => mode.decide(now, fact)),
      request: (now, stamp) => reading(() => mode.request(now, stamp)),
    };
    this.#roles = roles;
    this.engine = { mode: guarded, state, ledger: emptyLedger() };
    if (!unchecked) this.#invariants = new Invariants(mode, this.engine, rules, this.lookup, roles);
    this.opening = {
      mode: mode.name,
      rules: mode.rules,
      version: "0.0.0",
      config: { ...CONFIG, ...config },
      roles,
      schemas: { digest: `sha256:${"0".repeat(64)}` },
      workspace: "/project",
      ...optional({ input, requirement, repository }),
    };
    this.submit("scheduler", "session_opened", this.opening);
  }

  readonly lookup: Lookup = {
    record: (sequence) => {
      const record = this.records[sequence - 1];
      if (!record) throw new Error(`record ${sequence} is referred to, but was never written`);
      return record;
    },
    bytes: () => 0,
    file: (sequence, pointer) => `/files/${sequence}${pointer}`,
  };

  get state(): S {
    return this.engine.state;
  }

  get phase(): string {
    return this.engine.mode.phase(this.state);
  }

  /** A value with the recorded texts in place of its references. */
  resolved<T>(value: T): T {
    return resolve(value as JsonObject, this.lookup) as T;
  }

  /** What stands in the session, as every view shows it. */
  get standing(): SessionState {
    return standingState(this.engine, (title) => textWithin(resolve(title, this.lookup)));
  }

  /** Submits a fact as the runtime would, and keeps the records that follow from it. */
  submit(
    source: string,
    payload_type: PayloadType,
    payload: JsonObject | Fact["payload"],
    channel: Channel = {},
  ): this {
    // The payload of a turn request still holds references; `admit` has checked it without them.
    if (payload_type !== "turn_request") valid(payload_type, payload);
    this.sequence = this.records.length + 1;
    this.#now = channel.at ?? (this.sequence === 1 ? START : later(this.#now, SECOND_MS));
    const { subject, turn, usage, actor, work } = channel;
    const known = optional({ subject, turn, usage, actor, work });
    const header = { sequence: this.sequence, received_at: this.#now, source, ...known };
    const fact = freeze({ ...header, payload_type, payload }) as unknown as Fact;
    this.#invariants?.before(fact);
    this.last = advance(this.engine, fact);
    const target = fact.payload_type === "turn_request" ? { target: fact.payload.role_id } : {};
    const input = { ...fact, ...target } as unknown as FactInput;
    const record = factRecord(SESSION_ID, input, this.#now, this.last, this.lookup);
    this.records.push(record);
    for (const envelope of this.last.envelopes)
      this.records.push(decidedRecord(SESSION_ID, envelope, this.#now, this.lookup));
    for (const change of this.last.changes) if ("put" in change) freeze(change.value);
    this.#invariants?.after(fact, this.last, record);
    if (payload_type === "session_reopened") this.#finish = undefined;
    const { commands } = this.last.step;
    const finish = commands.find((command) => command.do === "finish");
    if (finish) this.#close(finish);
    for (const command of commands) if (command.do === "fail_turn") this.#failTurn(command);
    return this;
  }

  /** The turn about a subject, or about the session as a whole, whether offered or open. */
  turn(subject?: string): LedgerTurn {
    for (const turn of this.engine.ledger.turns.values()) if (turn.subject === subject) return turn;
    throw new Error(`${subject ?? "the session"} has no turn: ${JSON.stringify(this.open)}`);
  }

  /** What the turn's agent is asked, still with references. */
  draft(subject?: string): TurnDraft {
    return this.engine.mode.request(this.state, stampOf(this.turn(subject)));
  }

  /** Admits an offered turn, as the dispatcher does, for the first role that suits its seat. */
  admit(subject?: string): this {
    const turn = this.turn(subject);
    const role = this.#roles.find((one) => suits(one, turn.seat));
    if (!role) throw new Error(`no role suits turn ${turn.turn_id}`);
    this.#admit(turn, role.role_id);
    return this;
  }

  /** Admits the most urgent offered turn that this role may take. */
  nextTurn(role_id: string): AdmittedTurn {
    const role = this.#roles.find((one) => one.role_id === role_id);
    const [turn] = [...this.engine.ledger.turns.values()]
      .filter(({ status, seat }) => status === "offered" && role && suits(role, seat))
      .toSorted((a, b) => a.priority - b.priority);
    if (!turn) throw new Error(`no turn is offered that ${role_id} could take: ${JSON.stringify(this.open)}`);
    const { turn_id, subject } = turn;
    return {
      turn_id,
      subject,
      request: this.#admit(turn, role_id),
      answer: (payload_type, payload) => void this.answer(subject, payload_type, payload),
      fail: (code) => void this.fail(subject, code),
    };
  }

  /** The turn's agent answers; the turn is admitted first if it is only offered. */
  answer(
    subject: string | undefined,
    payload_type: PayloadType,
    payload: JsonObject | Fact["payload"],
    usage?: Usage,
    work?: Fact["work"],
  ): this {
    const turn = this.#opened(subject);
    const channel = { subject, turn: stampOf(turn), ...optional({ usage, work }) };
    return this.submit(turn.role_id ?? "", payload_type, payload, channel);
  }

  /** The turn ends without an answer, in a way of its own unless `more` has a message. */
  fail(subject: string | undefined, code = "agent_failed", more: JsonObject = {}): this {
    const turn = this.#opened(subject);
    const payload = { turn_id: turn.turn_id, code, message: `It broke in record ${this.records.length}.`, ...more };
    return this.submit("scheduler", "turn_failed", payload, { subject, turn: stampOf(turn) });
  }

  /** A user sends something, about the ticket that it names, if any. */
  send(payload_type: PayloadType, payload: JsonObject | Fact["payload"]): this {
    const subject =
      "ticket_id" in payload && typeof payload.ticket_id === "string" ? { subject: payload.ticket_id } : {};
    return this.submit("user", payload_type, payload, { ...subject, actor: PERSON });
  }

  command(command: PayloadByType["user_command"]["command"], ticket_id?: string, more: JsonObject = {}): this {
    return this.send("user_command", { command, ...optional({ ticket_id }), ...more });
  }

  answerQuestions(answers: Readonly<Record<string, string>>, status: "answered" | "complete" = "answered"): this {
    const list = Object.entries(answers).map(([question_id, text]) => ({ question_id, text }));
    return this.send("clarification_response", { answers: list, status });
  }

  /** Lets time pass until the timer is due. A timer that is not set fires late. */
  fireTimer(timer_id: string): this {
    const due_at = this.engine.ledger.timers.get(timer_id)?.due_at ?? later(this.#now, SECOND_MS);
    const at = milliseconds(due_at) > milliseconds(this.#now) ? due_at : later(this.#now, 1);
    return this.submit("scheduler", "timer_fired", { timer_id, due_at }, { at });
  }

  /** How long until the timer is due, in ms. */
  delay(timer_id: string): number {
    return milliseconds(this.engine.ledger.timers.get(timer_id)?.due_at ?? "") - milliseconds(this.#now);
  }

  /** The checks about a subject come back, each passed or not. Failures have an output of their own. */
  finishChecks(subject: string, ...passed: readonly boolean[]): this {
    const checks = [...this.engine.ledger.checks.values()].find((one) => (one.subject ?? "") === subject);
    if (!checks) throw new Error(`no checks run for ${subject}`);
    const results = passed.map((pass, index) => ({
      criterion: `criterion ${index + 1}`,
      exit_code: pass ? 0 : 1,
      passed: pass,
      output: pass ? "" : `record ${this.records.length}`,
    }));
    return this.submit("scheduler", "check_result", { check_id: checks.check_id, results }, { subject });
  }

  /** The latest child session that was asked for and has not ended. */
  get child(): LedgerChild {
    const child = [...this.engine.ledger.children.values()].at(-1);
    if (!child) throw new Error("there is no child session");
    return child;
  }

  /** The runtime begins a child session that was asked for. */
  beginChild(budget: JsonObject = { turns: 40 }, { child, subject, mode } = this.child): this {
    const payload = { session_id: `s.${child}`, mode, budget, ...optional({ ticket_id: subject }) };
    return this.submit("scheduler", "session_begun", payload, { subject });
  }

  /** A child session ends. */
  finishChild(more: JsonObject = {}, { child, subject } = this.child): this {
    const usage = { turns: 3, input_tokens: 10, output_tokens: 20, cost_usd: null };
    const log = { records: 9, head: `sha256:${"0".repeat(64)}` };
    const ticket = optional({ ticket_id: subject });
    const payload = { session_id: `s.${child}`, ...ticket, outcome: "done", usage, log, ...more };
    return this.submit("scheduler", "session_finished", payload, { subject });
  }

  stop(reason: PayloadByType["session_stopped"]["reason"] = "signal"): this {
    return this.submit("scheduler", "session_stopped", { reason, message: "It stopped." });
  }

  /** Another scheduler resumes the session: it repeats the open turns, except for the turns that it asks a person about. */
  recover(graceful = true, asked: readonly string[] = []): this {
    const open = [...this.engine.ledger.turns.values()].filter((turn) => turn.status === "open");
    const turns = open
      .filter(({ turn_id }) => !asked.includes(turn_id))
      .map(({ turn_id, run }) => ({ turn_id, run: run + 1 }));
    const payload = { graceful, epoch: 2, turns, ...(asked.length > 0 ? { asked } : {}) };
    return this.submit("scheduler", "session_recovered", payload);
  }

  reopen(): this {
    return this.submit("user", "session_reopened", { reason: "retry" });
  }

  /** The effects of the latest fact, as `a: from -event-> to (reason)`. */
  get moved(): string[] {
    return this.last.step.effects.map(arrow);
  }

  /** Why the latest fact was refused, as `code pointer`. */
  get refused(): string | undefined {
    const { refused } = this.last.step;
    const pointer = refused?.details?.["pointer"];
    return typeof pointer === "string" ? `${refused?.code} ${pointer}` : refused?.code;
  }

  /** All that is open in the session, as sorted lines: `role message subject`, `timer in 1000 ms`, `ask kind id`, … */
  get open(): string[] {
    const { turns, timers, asks, checks, children } = this.engine.ledger;
    return [
      ...[...turns.values()].map((turn) => {
        const { message } = this.engine.mode.request(this.state, stampOf(turn));
        const seat = turn.seat.role_id ?? turn.seat.capability ?? turn.seat.type;
        return [seat, message.payload_type, turn.subject].filter(Boolean).join(" ");
      }),
      ...[...timers].filter(([, { passive }]) => !passive).map(([id]) => `${id} in ${this.delay(id)} ms`),
      ...[...asks.values()].map((ask) => `ask ${ask.kind} ${ask.ask_id}`),
      ...[...checks.values()].map((check) => `checks ${check.subject ?? ""}`),
      ...[...children.values()].map(({ mode, subject, status }) => `${mode} about ${subject ?? ""} ${status}`),
    ].sort();
  }

  /** How the session ended; undefined while it has not. */
  get ended(): { readonly outcome: Outcome; readonly reason?: string; readonly report: JsonObject } | undefined {
    if (!this.#finish) return undefined;
    const { do: _, report, ...end } = this.#finish;
    return { ...end, report: this.resolved(report) };
  }

  #admit(turn: LedgerTurn, role_id: string): PayloadByType["turn_request"] {
    const stamp = stampOf(turn);
    const { remaining_turns: _, alone: __, ...asked } = this.engine.mode.request(this.state, stamp);
    const places = { workspace: "/project", artifacts_dir: "/artifacts" };
    const payload = { ...asked, turn_id: turn.turn_id, role_id, ...places } as unknown as PayloadByType["turn_request"];
    const request = this.resolved(payload);
    valid("turn_request", request);
    valid(request.message.payload_type as PayloadType, request.message.payload);
    this.submit("scheduler", "turn_request", payload, { subject: turn.subject, turn: stamp });
    return request;
  }

  #opened(subject: string | undefined): LedgerTurn {
    if (this.turn(subject).status === "offered") this.admit(subject);
    return this.turn(subject);
  }

  #failTurn({ turn_id, code, message }: Extract<Command, { do: "fail_turn" }>): void {
    const turn = this.engine.ledger.turns.get(turn_id);
    if (!turn) throw new Error(`turn ${turn_id} cannot fail: there is no such turn`);
    const { subject } = turn;
    this.submit("scheduler", "turn_failed", { turn_id, code, message }, { subject, turn: stampOf(turn) });
  }

  #close(command: Extract<Command, { do: "finish" }>): void {
    this.#finish = command;
    const head = { sequence: this.records.length, hash: `sha256:${"0".repeat(64)}` };
    const { mode, ledger } = this.engine;
    const times = { opened_at: START, at: this.#now };
    const closing = { session_id: SESSION_ID, mode: mode.name, ...times, command, ledger, head, records: this.lookup };
    this.records.push(...closingRecords(closing));
  }
}

function arrow({ subject, from, event, to, reason }: Effect): string {
  return `${subject}: ${from ?? "nothing"} -${event}-> ${to}${reason === undefined ? "" : ` (${reason})`}`;
}

/** The fields that have a value. */
function optional<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
