import assert from "node:assert/strict";
import { type Advance, advance, type Engine } from "../../../src/kernel/engine.ts";
import { emptyLedger, type LedgerTurn } from "../../../src/kernel/ledger.ts";
import type { Change, Fact, TurnDraft, TurnStamp } from "../../../src/kernel/mode.ts";
import { type Recorded, resolve } from "../../../src/kernel/references.ts";
import type { Json, JsonObject } from "../../../src/lib/json.ts";
import { debateLifecycle, type DebatePhase } from "../../../src/modes/debate/debate.machine.ts";
import { debaterLifecycle, type DebaterEvent, type DebaterStatus } from "../../../src/modes/debate/debater.machine.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import type { Debater, DebateState } from "../../../src/modes/debate/state.ts";
import type { PayloadType } from "../../../src/protocol/payload.ts";
import { instant, milliseconds } from "../../../src/protocol/timestamp.ts";

/** Not in the order of the alphabet: rows come back in that one, and must not decide anything. */
export const DEBATERS = ["python", "go", "architect"] as const;

const ROLES = [
  ...DEBATERS.map((role_id) => ({ role_id, type: "participant" })),
  { role_id: "judge", type: "participant" },
  { role_id: "boss", type: "manager" },
  { role_id: "hand", type: "worker" },
];

const INPUT = { topic: "Python or Go?", debaters: [...DEBATERS], judge: "judge", rounds: 2 };

/** A debate's rules driven by facts, without a runtime; every step is held against what must always be so. */
export class DebateRig {
  readonly engine: Engine<DebateState> = { mode: debateMode, state: debateMode.empty(), ledger: emptyLedger() };
  readonly #records = new Map<number, Recorded>();
  readonly #rows = new Map<string, Extract<Change, { put: string }>>();
  #now = milliseconds("2026-01-01T00:00:00Z");
  #sequence = 0;

  /** Opens a debate about `INPUT` with the given differences. */
  open(input: JsonObject = {}, config: JsonObject = {}): Advance {
    return this.submit("scheduler", "session_opened", {
      mode: "debate",
      rules: debateMode.rules,
      input: { ...INPUT, ...input },
      config: { max_retries: 2, retry_backoff_ms: 1000, ...config },
      roles: ROLES,
    });
  }

  get phase(): DebatePhase | undefined {
    return this.engine.state.debate?.phase;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get isStopping(): boolean {
    const { stopping, stopped } = this.engine.ledger.figures;
    return stopping === true || stopped !== undefined;
  }

  debater(id: string): Debater {
    const debater = this.engine.state.debaters.get(id);
    if (!debater) throw new Error(`There is no debater ${id}.`);
    return debater;
  }

  /** The offered or open turn of a role. */
  turnOf(role_id: string): LedgerTurn {
    const turn = [...this.engine.ledger.turns.values()].find((one) => one.seat.role_id === role_id);
    if (!turn) throw new Error(`${role_id} has no turn.`);
    return turn;
  }

  /** What a role would be asked now, with the texts in place of the references. */
  request(role_id: string): TurnDraft {
    const draft = debateMode.request(this.engine.state, stampOf(this.turnOf(role_id)));
    return this.resolve(draft as unknown as JsonObject) as unknown as TurnDraft;
  }

  resolve(value: JsonObject): JsonObject {
    const record = (sequence: number) => {
      const found = this.#records.get(sequence);
      if (!found) throw new Error(`There is no record ${sequence}.`);
      return found;
    };
    return resolve(value, { record, bytes: () => 0, file: () => "" }) as JsonObject;
  }

  /** Admits a role's offered turn, as the dispatcher does. */
  begin(role_id: string): Advance {
    const turn = this.turnOf(role_id);
    const payload = { ...debateMode.request(this.engine.state, stampOf(turn)), turn_id: turn.turn_id, role_id };
    return this.submit("scheduler", "turn_request", payload, stampOf(turn));
  }

  /** Ends a role's turn with an answer, beginning it first if it was only offered. */
  answer(role_id: string, payload_type: PayloadType, payload: JsonObject): Advance {
    if (this.turnOf(role_id).status === "offered") this.begin(role_id);
    return this.submit(role_id, payload_type, payload, stampOf(this.turnOf(role_id)));
  }

  opinion(role_id: string, position: string, more: JsonObject = {}): Advance {
    return this.answer(role_id, "opinion", { round: this.engine.state.debate?.round ?? 0, position, ...more });
  }

  /** One opinion of everybody who is asked, in the given order. */
  round(more: JsonObject = {}, order: readonly string[] = DEBATERS): void {
    const round = this.engine.state.debate?.round;
    for (const id of order) {
      if (this.debater(id).status === "answering") this.opinion(id, `${id} in round ${round}`, more);
    }
  }

  fail(role_id: string, code = "agent_failed", more: JsonObject = {}): Advance {
    if (this.turnOf(role_id).status === "offered") this.begin(role_id);
    const turn = this.turnOf(role_id);
    const payload = { turn_id: turn.turn_id, code, message: "It failed.", refused: [], ...more };
    return this.submit("scheduler", "turn_failed", payload, stampOf(turn));
  }

  /** Lets time pass until the timer is due. */
  fire(timer_id: string): Advance {
    const due_at = this.engine.ledger.timers.get(timer_id)?.due_at;
    if (due_at === undefined) throw new Error(`No timer ${timer_id} is set.`);
    this.#now = Math.max(this.#now, milliseconds(due_at));
    return this.submit("scheduler", "timer_fired", { timer_id, due_at });
  }

  /** How long until the timer is due, in ms. */
  delay(timer_id: string): number {
    return milliseconds(this.engine.ledger.timers.get(timer_id)?.due_at ?? "") - this.#now;
  }

  command(payload: JsonObject): Advance {
    return this.submit("user", "user_command", payload);
  }

  stop(reason: string): Advance {
    return this.submit("scheduler", "session_stopped", { reason, message: reason });
  }

  /** Another scheduler takes over: open turns are repeated. */
  recover(graceful: boolean): Advance {
    const open = [...this.engine.ledger.turns.values()].filter((turn) => turn.status === "open");
    const turns = open.map((turn) => ({ turn_id: turn.turn_id, run: turn.run + 1 }));
    return this.submit("scheduler", "session_recovered", { graceful, epoch: 2, turns });
  }

  reopen(): Advance {
    return this.submit("scheduler", "session_reopened", { reason: "again" });
  }

  submit(source: string, payload_type: PayloadType, payload: JsonObject, turn?: TurnStamp): Advance {
    this.#sequence += 1;
    this.#now += 10;
    const received_at = instant(this.#now);
    const subject = turn?.subject === undefined ? {} : { subject: turn.subject };
    const fact = deepFreeze({
      sequence: this.#sequence,
      received_at,
      source,
      payload_type,
      payload,
      ...subject,
      ...(turn ? { turn } : {}),
    }) as unknown as Fact;
    this.#records.set(this.#sequence, { payload_type, payload, record: { received_at } });
    const before = structuredClone(this.engine.state);
    debateMode.decide(this.engine.state, fact);
    assert.deepEqual(this.engine.state, before, "deciding changed the state");
    const done = advance(this.engine, fact);
    for (const change of done.step.changes) this.#keep(change);
    this.#check(done);
    return done;
  }

  #keep(change: Change): void {
    if (!("put" in change)) throw new Error(`The debate drops ${change.drop}.`);
    assert.deepEqual(JSON.parse(JSON.stringify(change)), change, "a change does not survive its row");
    deepFreeze(change.value);
    this.#rows.set(`${change.put}/${change.id}`, change);
  }

  #check(done: Advance): void {
    const { state, ledger } = this.engine;
    for (const { subject, from, event, to } of done.step.effects) {
      if (from === null) assert.deepEqual({ event, to }, { event: "seated", to: "waiting" });
      else
        assert.equal(debaterLifecycle.next(from as DebaterStatus, event as DebaterEvent), to, `${subject}: ${event}`);
    }
    const rebuilt = debateMode.empty();
    const rows = [...this.#rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    for (const row of rows) debateMode.apply(rebuilt, row);
    assert.deepEqual(rebuilt, state, "loaded rows give another state");
    assert.deepEqual(debateMode.view(rebuilt), debateMode.view(state));
    assert.equal(debateMode.phase(state), debateMode.view(state).state);

    const holders = [...state.debaters.values(), ...(state.debate ? [state.debate.judge] : [])];
    const held = holders.flatMap((one) => one.turn?.turn_id ?? []).toSorted();
    assert.deepEqual([...ledger.turns.keys()].toSorted(), held, "the mode's turns are not the engine's");
    const timed = [...state.debaters.values()].filter((one) => one.put_again).map((one) => `retry:${one.id}`);
    if (state.debate?.judge.put_again?.waits_for === "timer") timed.push("retry:");
    assert.deepEqual([...ledger.timers.keys()].toSorted(), timed.toSorted(), "what waits has no timer");
    for (const turn of ledger.turns.values()) {
      const draft = debateMode.request(state, stampOf(turn));
      assert.deepEqual(debateMode.request(rebuilt, stampOf(turn)), draft, "a request is another one after loading");
      this.resolve(draft as unknown as JsonObject);
    }
    const closed = state.debate === undefined || debateLifecycle.next(state.debate.phase, "finished") === undefined;
    assert.equal(
      ledger.figures.closed !== undefined,
      closed,
      "the mode and the engine disagree on whether it is closed",
    );
    assert.ok(held.length + timed.length > 0 || closed || this.isStopping, "nothing is open, nothing is finished");
  }
}

export function stampOf({ turn_id, attempt, run, subject }: LedgerTurn): TurnStamp {
  return { turn_id, attempt, run, ...(subject === undefined ? {} : { subject }) };
}

/** The outcome, reason and report with which a step closed the session, references resolved. */
export function endOf(rig: DebateRig, done: Advance): { outcome: string; reason?: string; report: JsonObject } {
  const finish = done.step.commands.find((command) => command.do === "finish");
  if (!finish) throw new Error("The step closed nothing.");
  const { do: _, report, ...end } = finish;
  return { ...end, report: rig.resolve(report) };
}

function deepFreeze(value: unknown): Json {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value as Json;
}
