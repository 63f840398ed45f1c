import { type Advance, advance, type Engine } from "../../../src/kernel/engine.ts";
import { emptyLedger } from "../../../src/kernel/ledger.ts";
import type { Command, Fact, TurnDraft, TurnStamp } from "../../../src/kernel/mode.ts";
import { type Lookup, type Recorded, resolve } from "../../../src/kernel/references.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { decide } from "../../../src/modes/schedule/decide.ts";
import { request } from "../../../src/modes/schedule/request.ts";
import { scheduleMode } from "../../../src/modes/schedule/mode.ts";
import type { ScheduleState, Ticket } from "../../../src/modes/schedule/state.ts";
import { validatePayload } from "../../../src/protocol/envelope.ts";
import type { PayloadByType, PayloadType, ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import { type Effect, recordedEffect } from "../../../src/protocol/recording.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { later, milliseconds } from "../../../src/protocol/timestamp.ts";
import { guardedState } from "./guarded.ts";
import { Invariants } from "./invariants.ts";
import { APPROVED, COMPLETED, CONFIG, CREW, INSTRUCTION, type Task } from "./words.ts";

/** The session's first moment; each fact comes one second after the one before it unless a timer says otherwise. */
const START = "2026-01-01T00:00:00Z";

export interface SceneOptions {
  readonly config?: Partial<ResolvedConfiguration>;
  readonly input?: JsonObject;
  readonly roles?: readonly Role[];
  /** Checking costs time in proportion to the state; measurements of large plans do without. */
  readonly unchecked?: boolean;
}

/** One schedule session, driven fact by fact through the engine in virtual time, with its invariants checked after each. */
export class Scene {
  readonly records: Recorded[] = [];
  readonly engine: Engine<ScheduleState>;
  readonly #invariants: Invariants | undefined;
  #now = START;
  /** What the latest fact led to. */
  last: Advance = { disposition: "applied", step: NO_STEP, changes: [], envelopes: [] };
  ended: Extract<Command, { do: "finish" }> | undefined;

  constructor(options: SceneOptions = {}) {
    const guarded = guardedState();
    this.engine = {
      mode: {
        ...scheduleMode,
        decide: (state, fact) => guarded.readonly(() => decide(state, fact)),
        request: (state, stamp) => guarded.readonly(() => request(state, stamp)),
      },
      state: guarded.state,
      ledger: emptyLedger(),
    };
    if (!options.unchecked) this.#invariants = new Invariants(this.engine, this.lookup);
    this.fact("scheduler", "session_opened", {
      mode: "schedule",
      rules: scheduleMode.rules,
      version: "0.0.0",
      config: { ...CONFIG, ...options.config },
      roles: options.roles ?? CREW,
      schemas: { digest: `sha256:${"0".repeat(64)}` },
      workspace: "/project",
      ...(options.input ? { input: options.input } : {}),
    });
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

  get state(): ScheduleState {
    return this.engine.state;
  }

  get phase(): string | undefined {
    return this.state.session?.phase;
  }

  /** The latest fact's sequence, whatever was recorded after it. */
  sequence = 0;

  /** Puts a fact to the engine as the runtime would, keeping the records that follow from it. */
  fact(
    source: string,
    payload_type: PayloadType,
    payload: JsonObject,
    channel: { subject?: string | undefined; turn?: TurnStamp; at?: string } = {},
  ): this {
    if (payload_type !== "turn_request") requireValid(payload_type, payload);
    this.sequence = this.records.length + 1;
    this.#now = channel.at ?? (this.sequence === 1 ? START : later(this.#now, 1000));
    const { subject, turn } = channel;
    const fact = freeze({
      sequence: this.sequence,
      received_at: this.#now,
      source,
      payload_type,
      payload,
      ...(subject === undefined ? {} : { subject }),
      ...(turn ? { turn } : {}),
    }) as unknown as Fact;
    this.records.push({ payload_type, payload, record: { received_at: this.#now, ...about(subject, turn?.attempt) } });
    this.#invariants?.before(fact);
    this.last = advance(this.engine, fact);
    const { effects, commands } = this.last.step;
    this.records[this.sequence - 1] = {
      payload_type,
      payload,
      record: { received_at: this.#now, ...about(subject, turn?.attempt), effects: effects.map(recordedEffect) },
    };
    for (const envelope of this.last.envelopes) {
      const resolved = resolve(envelope.payload, this.lookup) as JsonObject;
      this.records.push({
        payload_type: envelope.payload_type,
        payload: resolved,
        record: { received_at: this.#now, ...about(envelope.subject) },
      });
    }
    for (const change of this.last.changes) if ("put" in change) freeze(change.value);
    if (payload_type === "session_reopened") this.ended = undefined;
    const ended = commands.find((command) => command.do === "finish");
    this.#invariants?.after(fact, this.last);
    if (ended) {
      this.ended = ended;
      this.records.push(blank("final_report", this.#now), blank("session_closed", this.#now));
    }
    for (const command of commands) if (command.do === "fail_turn") this.#giveUp(command);
    return this;
  }

  requirement(text = "Mend it"): this {
    return this.fact("user", "requirement", { text });
  }

  /** The requirement, and the manager's plan for it. */
  planned(...tasks: readonly Task[]): this {
    return this.requirement().says(undefined, "plan", { tasks });
  }

  ticket(id: string): Ticket {
    const ticket = this.state.tickets.get(id);
    if (!ticket) throw new Error(`there is no ticket ${id}`);
    return ticket;
  }

  status(id: string): string {
    const { status, reason } = this.ticket(id);
    return reason === undefined ? status : `${status} (${reason})`;
  }

  /** The request that whoever takes the turn would get, still holding its references. */
  draft(subject?: string): TurnDraft {
    const turn = this.#turn(subject);
    return this.engine.mode.request(this.state, {
      turn_id: turn.turn_id,
      attempt: turn.attempt,
      run: turn.run,
      ...subjectOf(subject),
    });
  }

  /** The dispatcher admits the offered turn of a ticket, or of the session. */
  admit(subject?: string): this {
    const turn = this.#turn(subject);
    const { seat } = turn;
    const roles = this.state.session?.roles ?? [];
    const role = roles.find(
      (one) =>
        one.type === seat.type &&
        (seat.role_id ?? one.role_id) === one.role_id &&
        (seat.capability === undefined || one.capabilities.includes(seat.capability)),
    );
    if (!role) throw new Error(`nobody can take turn ${turn.turn_id}`);
    const stamp = { turn_id: turn.turn_id, attempt: turn.attempt, run: turn.run, ...subjectOf(subject) };
    const { expects, message, context, discuss } = this.engine.mode.request(this.state, stamp);
    const payload = {
      turn_id: turn.turn_id,
      role_id: role.role_id,
      expects,
      message,
      context,
      workspace: "/project",
      artifacts_dir: "/artifacts",
      ...(discuss === undefined ? {} : { discuss }),
    } as unknown as JsonObject;
    const sent = resolve(payload, this.lookup) as PayloadByType["turn_request"];
    requireValid("turn_request", sent);
    requireValid(sent.message.payload_type as PayloadType, sent.message.payload);
    return this.fact("scheduler", "turn_request", payload, { subject, turn: stamp });
  }

  /** Whoever has the turn answers it; it is admitted first if nobody has it yet. */
  says(subject: string | undefined, payload_type: PayloadType, payload: JsonObject | Fact["payload"]): this {
    const turn = this.#opened(subject);
    return this.fact(turn.role_id ?? "", payload_type, payload, { subject, turn: turn.stamp });
  }

  /** The turn ends without an answer. */
  fails(subject: string | undefined, code = "agent_failed", more: JsonObject = {}): this {
    const turn = this.#opened(subject);
    const payload = { turn_id: turn.stamp.turn_id, code, message: "It broke.", ...more };
    return this.fact("scheduler", "turn_failed", payload, { subject, turn: turn.stamp });
  }

  /** A person's word. */
  person(payload_type: PayloadType, payload: JsonObject | Fact["payload"]): this {
    const { ticket_id } = payload as JsonObject;
    return this.fact("user", payload_type, payload, typeof ticket_id === "string" ? { subject: ticket_id } : {});
  }

  command(command: PayloadByType["user_command"]["command"], ticket_id?: string, more: JsonObject = {}): this {
    return this.person("user_command", { command, ...(ticket_id === undefined ? {} : { ticket_id }), ...more });
  }

  answers(answers: Readonly<Record<string, string>>, status: "answered" | "complete" = "answered"): this {
    const list = Object.entries(answers).map(([question_id, text]) => ({ question_id, text }));
    return this.person("clarification_response", { answers: list, status });
  }

  /** The timer is due, and time stands there. */
  fires(timer_id: string): this {
    const due_at = this.engine.ledger.timers.get(timer_id)?.due_at ?? later(this.#now, 1000);
    const at = milliseconds(due_at) > milliseconds(this.#now) ? due_at : later(this.#now, 1);
    return this.fact("scheduler", "timer_fired", { timer_id, due_at }, { at });
  }

  /** The ticket's checks come back. */
  checked(subject: string, ...passed: readonly boolean[]): this {
    const checks = [...this.engine.ledger.checks.values()].find((one) => one.subject === subject);
    if (!checks) throw new Error(`no checks run for ${subject}`);
    const results = passed.map((pass, index) => ({
      criterion: `criterion ${index + 1}`,
      exit_code: pass ? 0 : 1,
      passed: pass,
      output: "",
    }));
    return this.fact("scheduler", "check_result", { check_id: checks.check_id, results }, { subject });
  }

  stops(reason: PayloadByType["session_stopped"]["reason"] = "signal"): this {
    return this.fact("scheduler", "session_stopped", { reason, message: "It stopped." });
  }

  /** A scheduler takes the session up again, repeating the turns that were open, but for those that it asks about. */
  recovers(graceful = true, asked: readonly string[] = []): this {
    const open = [...this.engine.ledger.turns.values()].filter((turn) => turn.status === "open");
    const turns = open
      .filter(({ turn_id }) => !asked.includes(turn_id))
      .map(({ turn_id, run }) => ({ turn_id, run: run + 1 }));
    const payload = { graceful, epoch: 2, turns, ...(asked.length > 0 ? { asked } : {}) };
    return this.fact("scheduler", "session_recovered", payload);
  }

  reopens(): this {
    return this.fact("user", "session_reopened", { reason: "retry" });
  }

  /** What the latest fact moved, as `a: from -event-> to (reason)`. */
  get moved(): string[] {
    return this.last.step.effects.map(arrow);
  }

  /** Why the latest fact was refused, as `code pointer`. */
  get refused(): string | undefined {
    const { refused } = this.last.step;
    const pointer = refused?.details?.["pointer"];
    return typeof pointer === "string" ? `${refused?.code} ${pointer}` : refused?.code;
  }

  /** All that is under way, as short sorted lines. */
  get open(): string[] {
    const { turns, timers, asks, checks, children } = this.engine.ledger;
    const holders = [undefined, ...this.state.tickets.keys()];
    const messages = new Map(
      holders.map((id) => [(id === undefined ? this.state.session : this.ticket(id))?.turn?.turn_id, id]),
    );
    return [
      ...[...turns.values()].map((turn) => {
        const id = messages.get(turn.turn_id);
        const message = (id === undefined ? this.state.session : this.ticket(id))?.turn?.message ?? "?";
        return [turn.seat.role_id ?? turn.seat.capability ?? turn.seat.type, message, id].filter(Boolean).join(" ");
      }),
      ...[...timers]
        .filter(([, timer]) => !timer.passive)
        .map(([id, { due_at }]) => `${id} in ${milliseconds(due_at) - milliseconds(this.#now)} ms`),
      ...[...asks.values()].map((ask) => `ask ${ask.kind} ${ask.ask_id}`),
      ...[...checks.values()].map((check) => `checks ${check.subject ?? ""}`),
      ...[...children.values()].map(({ mode, subject, status }) => `${mode} about ${subject ?? ""} ${status}`),
    ].sort();
  }

  /** How the session ended, as `outcome reason`, and each ticket as it stands in the report. */
  get report(): {
    readonly ended: string;
    readonly tickets: Readonly<Record<string, string>>;
    readonly whole: JsonObject;
  } {
    if (!this.ended) throw new Error("the session has not ended");
    const { outcome, reason, report } = this.ended;
    const whole = resolve(report, this.lookup) as JsonObject;
    const { tickets } = whole as unknown as PayloadByType["final_report"];
    const stand = tickets.map(({ ticket_id, status, reason: why, blocked_by = [] }) => {
      const words = [status, why, ...blocked_by.map((id) => `by ${id}`)];
      return [ticket_id, words.filter((word) => word !== undefined).join(" ")];
    });
    return {
      ended: [outcome, reason].filter(Boolean).join(" "),
      tickets: Object.fromEntries(stand) as Record<string, string>,
      whole,
    };
  }

  #giveUp({ turn_id, code, message }: Extract<Command, { do: "fail_turn" }>): void {
    const given = this.engine.ledger.turns.get(turn_id);
    if (!given) throw new Error(`${turn_id} cannot be given up: there is no such turn`);
    const { attempt, run, subject } = given;
    const turn = { turn_id, attempt, run, ...subjectOf(subject) };
    this.fact("scheduler", "turn_failed", { turn_id, code, message }, { subject, turn });
  }

  #turn(subject: string | undefined) {
    const held = subject === undefined ? this.state.session?.turn : this.ticket(subject).turn;
    const turn = held && this.engine.ledger.turns.get(held.turn_id);
    if (!turn) throw new Error(`${subject ?? "the session"} has no turn: ${JSON.stringify(this.open)}`);
    return turn;
  }

  #opened(subject: string | undefined) {
    if (this.#turn(subject).status === "offered") this.admit(subject);
    const { turn_id, attempt, run, role_id } = this.#turn(subject);
    return { role_id, stamp: { turn_id, attempt, run, ...subjectOf(subject) } };
  }
}

const NO_STEP = { changes: [], envelopes: [], effects: [], commands: [] };

function arrow({ subject, from, event, to, reason }: Effect): string {
  return `${subject}: ${from ?? "nothing"} -${event}-> ${to}${reason === undefined ? "" : ` (${reason})`}`;
}

/** The tickets are instructed, done, delivered and approved, one after the other. */
export function done(scene: Scene, ...ids: readonly string[]): Scene {
  for (const id of ids) {
    scene.says(id, "instruction", INSTRUCTION).says(id, "report", COMPLETED).says(id, "review", APPROVED);
  }
  return scene;
}

/** The manager holds an error turn about `a`, and has those for the other tickets to come. */
export function troubled(options: SceneOptions, ...tasks: readonly Task[]): Scene {
  const scene = new Scene({ ...options, config: { max_retries: 0, ...options.config } }).planned(...tasks);
  if (scene.phase === "approving") scene.person("approval", APPROVED);
  return scene.says("a", "instruction", INSTRUCTION).fails("a");
}

/** A test may only send what the wire lets in; what is wrong with it must be for the rules to find. */
function requireValid(type: PayloadType, payload: unknown): void {
  const checked = validatePayload(type, payload);
  if (!checked.ok) throw new Error(`not a valid ${type}: ${JSON.stringify(checked.error)}`);
}

function about(subject: string | undefined, attempt?: number) {
  return { ...(subject === undefined ? {} : { ticket_id: subject }), ...(attempt === undefined ? {} : { attempt }) };
}

function subjectOf(subject: string | undefined): { subject?: string } {
  return subject === undefined ? {} : { subject };
}

function blank(payload_type: string, received_at: string): Recorded {
  return { payload_type, payload: {}, record: { received_at } };
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
