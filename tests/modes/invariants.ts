import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import { isLate, ownStep } from "../../src/kernel/accounting.ts";
import type { Advance, Engine } from "../../src/kernel/engine.ts";
import { applyToLedger, emptyLedger, LEDGER_COLLECTIONS, type Ledger, stampOf } from "../../src/kernel/ledger.ts";
import type { Change, Command, Fact, Mode } from "../../src/kernel/mode.ts";
import { type Lookup, resolve } from "../../src/kernel/references.ts";
import { canonicalJson } from "../../src/lib/canonical.ts";
import { applyToState, emptyState, newSubject, standingState } from "../../src/kernel/state.ts";
import { type Json, type JsonObject, textWithin } from "../../src/lib/json.ts";
import { validatePayload } from "../../src/protocol/envelope.ts";
import { isNotice, type PayloadType } from "../../src/protocol/payload.ts";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { permits } from "../../src/protocol/rights.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { tellingOf } from "../../src/protocol/telling.ts";

/** What the tests of one mode add to the invariants of every mode. */
export interface ModeRules<S> {
  /** The event and the status with which a subject begins. */
  readonly created: readonly [event: string, to: string];
  /** Where an event leads a subject; undefined where its machine does not accept the event. */
  next(from: string, event: string): string | undefined;
  /** Throws if the mode's own invariants do not hold after a fact. */
  check(now: { readonly state: S; readonly ledger: Ledger; readonly lookup: Lookup; readonly advance: Advance }): void;
}

/** Checks after each fact what must hold for every mode: it replays, it loads, it keeps to its rights, schemas and machines. */
export class Invariants<S> {
  readonly #mode: Mode<S>;
  readonly #engine: Engine<S>;
  readonly #lookup: Lookup;
  readonly #rules: ModeRules<S>;
  readonly #roles: readonly Role[];
  readonly #rows = new Map<string, Extract<Change, { put: string }>>();
  readonly #statuses = new Map<string, string>();
  readonly #random = generator(7);
  readonly #folded = emptyState();
  /** The state as a scheduler that resumes the session would load it. */
  #loaded: S;
  /** What `decide` gives for the loaded state, as JSON; undefined if the mode does not decide the fact. */
  #decidedAfterLoading: string | undefined;
  /** The message of the turn that the fact belongs to. */
  #message: PayloadType | undefined;

  constructor(mode: Mode<S>, engine: Engine<S>, rules: ModeRules<S>, lookup: Lookup, roles: readonly Role[]) {
    this.#mode = mode;
    this.#engine = engine;
    this.#rules = rules;
    this.#lookup = lookup;
    this.#roles = roles;
    this.#loaded = mode.empty();
  }

  /** Call before a fact is advanced. */
  before(fact: Fact): void {
    const { state, ledger } = this.#engine;
    const turn = fact.turn && ledger.turns.get(fact.turn.turn_id);
    this.#message = undefined;
    if (turn) {
      const draft = this.#mode.request(state, stampOf(turn));
      this.#message = draft.message.payload_type;
      same(this.#mode.request(this.#loaded, stampOf(turn)), draft, "the request after loading");
    }
    const isTheModes = !isLate(ledger, fact) && !ownStep(ledger, fact);
    this.#decidedAfterLoading = isTheModes ? JSON.stringify(this.#mode.decide(this.#loaded, fact)) : undefined;
  }

  /** Call after it. */
  after(fact: Fact, advance: Advance, record: UnsealedRecord): void {
    this.#checkLoadedDecision(advance);
    this.#checkRights(fact, advance);
    this.#keepRows(advance.changes);
    this.#load();
    this.#fold(record);
    this.#followEffects(advance);
    this.#checkEnvelopes(advance);
    this.#checkReport(fact, advance.step.commands);
    const { state, ledger } = this.#engine;
    if (ledger.figures.closed) {
      const { turns, timers, asks, checks, children } = ledger;
      const open = [turns, timers, asks, checks, children].map(({ size }) => size);
      same(open, [0, 0, 0, 0, 0], "what is open in a closed session");
    }
    this.#rules.check({ state, ledger, lookup: this.#lookup, advance });
  }

  /** A resumed session decides the same, or its log would not verify. */
  #checkLoadedDecision({ step }: Advance): void {
    if (this.#decidedAfterLoading === undefined) return;
    const decided = JSON.parse(this.#decidedAfterLoading) as Advance["step"];
    // The engine's own commands come after the mode's.
    const commands = step.commands.slice(0, decided.commands.length);
    same(decided, JSON.parse(JSON.stringify({ ...step, commands })), "the step after loading");
  }

  /** An answer that was applied is one that its role has the right to give. */
  #checkRights(fact: Fact, { disposition }: Advance): void {
    const sender = this.#roles.find(({ role_id }) => role_id === fact.source)?.type;
    if (!fact.turn || !sender || disposition !== "applied" || isNotice(fact)) return;
    const isPermitted = permits(this.#mode.rights, sender, fact.payload_type, this.#message);
    holds(isPermitted, `a ${sender} may not answer ${this.#message} with ${fact.payload_type}`);
  }

  #keepRows(changes: readonly Change[]): void {
    for (const change of changes) {
      const stored = JSON.parse(canonicalJson(change)) as Change;
      same(stored, change, "a change after storing");
      if ("put" in stored) this.#rows.set(`${stored.put} ${stored.id}`, stored);
      else this.#rows.delete(`${stored.drop} ${stored.id}`);
    }
  }

  /** Rows in any order give the same state and ledger, indexes included: this is what loading a session does. */
  #load(): void {
    const state = this.#mode.empty();
    const ledger = emptyLedger();
    for (const row of shuffled([...this.#rows.values()], this.#random)) {
      if (LEDGER_COLLECTIONS.has(row.put)) applyToLedger(ledger, row);
      else this.#mode.apply(state, row);
    }
    this.#loaded = state;
    same(plain(state), plain(this.#engine.state), "the state loaded from rows");
    same(plain(ledger), plain(this.#engine.ledger), "the ledger loaded from rows");
    same(this.#mode.phase(state), this.#mode.phase(this.#engine.state), "the phase loaded from rows");
  }

  /** What records tell adds up to what is stored: no view needs another source. */
  #fold(record: UnsealedRecord): void {
    applyToState(this.#folded, record, tellingOf(record), newSubject);
    const read = (title: Json) => textWithin(resolve(title, this.#lookup));
    const stored = standingState({ ...this.#engine, mode: this.#mode }, read);
    same(plain(this.#folded), plain(stored), "the state folded from records");
  }

  /** Each effect starts at its subject's status, is an arrow of its machine, and ends at the status that the view shows. */
  #followEffects({ step }: Advance): void {
    for (const { subject, from, event, to } of step.effects) {
      if (from === null) {
        same([event, to], this.#rules.created, `how ${subject} begins`);
      } else {
        same(from, this.#statuses.get(subject), `the status of ${subject} before ${event}`);
        same(to, this.#rules.next(from, event), `where ${event} leads ${subject}`);
      }
      this.#statuses.set(subject, to);
    }
    for (const { id, status } of this.#folded.subjects.values())
      same(status, this.#statuses.get(id), `the status of ${id}`);
  }

  /** A mode writes only what the scheduler may say, and what fits its schema. */
  #checkEnvelopes({ envelopes, step }: Advance): void {
    for (const { payload_type, payload } of envelopes) {
      holds(permits(this.#mode.rights, "scheduler", payload_type), `the scheduler may not say ${payload_type}`);
      valid(payload_type, resolve(payload, this.#lookup));
    }
    holds(!step.refused || envelopes[0]?.payload_type === "error", "a refusal writes no error envelope");
  }

  #checkReport({ received_at }: Fact, commands: readonly Command[]): void {
    const [end, ...others] = commands.filter((command) => command.do === "finish");
    same(others, [], "a second end of the session");
    if (!end) return;
    valid("final_report", {
      ...(resolve(end.report, this.#lookup) as JsonObject),
      session_id: "s",
      mode: this.#mode.name,
      outcome: end.outcome,
      ...(end.reason === undefined ? {} : { reason: end.reason }),
      started_at: received_at,
      finished_at: received_at,
      usage: { turns: 0, input_tokens: 0, output_tokens: 0, cost_usd: null },
      recoveries: 0,
      log: { records: 1, head: `sha256:${"0".repeat(64)}` },
    });
  }
}

export function holds(condition: unknown, otherwise: string): void {
  if (!condition) throw new Error(otherwise);
}

export function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new AssertionError({ message: `${what} is not as expected`, actual, expected, operator: "deepStrictEqual" });
  }
}

/** A test may send only what the wire accepts: everything else about it is for the mode's rules to find. */
export function valid(type: PayloadType, payload: unknown): void {
  const checked = validatePayload(type, payload);
  if (!checked.ok) throw new Error(`not a valid ${type}: ${JSON.stringify(checked.error)}`);
}

/** Maps and sets as sorted lists. An index without its entry is the same as one with 0 or an empty set. */
function plain(value: unknown): Json {
  if (value instanceof Set) return [...(value as ReadonlySet<string>)].sort();
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<string, unknown>)].filter(
      ([, entry]) => entry !== 0 && !(entry instanceof Set && entry.size === 0),
    );
    return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, entry]) => [key, plain(entry)]);
  }
  if (typeof value !== "object" || value === null) return (value ?? null) as Json;
  if (Array.isArray(value)) return value as Json;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

function shuffled<T>(list: T[], random: () => number): T[] {
  for (let index = list.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other] as T, list[index] as T];
  }
  return list;
}

/** Numbers in [0, 1), the same ones for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
