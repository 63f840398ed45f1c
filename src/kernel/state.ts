import type { Json } from "../lib/json.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { Telling, ToldAsk, ToldChecks, ToldHold, ToldSubject, ToldTurn } from "../protocol/telling.ts";
import { runningTurns } from "./deltas.ts";
import { type ReadEngine, stateOf } from "./engine.ts";
import { type Presentation, shownStatus } from "./presentation.ts";

/**
 * What stands in a session: its subjects, and what is open. It is either folded from records (`applyToState`), which tell what they opened, ended and
 * changed, or read from stored rows (`standingState`). Both are equal, because records tell the differences of exactly these rows. It knows no mode.
 * Plain data.
 */
export interface SessionState<S extends SubjectState = SubjectState> {
  /** In one word; empty until a record tells it. */
  state: string;
  readonly subjects: Map<string, S>;
  /** Number of subjects in each status. */
  readonly counts: Map<string, number>;
  /** The turns that agents hold. */
  readonly turns: Map<string, ToldTurn>;
  /** What waits for a person. */
  readonly asks: Map<string, ToldAsk>;
  readonly holds: Map<string, ToldHold>;
  readonly checks: Map<string, ToldChecks>;
}

export interface SubjectState {
  readonly id: string;
  order: number;
  status: string;
  /** When it entered its status. */
  since: string;
  title: string;
  owner: string | undefined;
  attempt: number;
  max_attempts: number | undefined;
  depends_on: readonly string[];
  reason: string | undefined;
  spent: string | undefined;
}

export function emptyState(): SessionState {
  return {
    state: "",
    subjects: new Map(),
    counts: new Map(),
    turns: new Map(),
    asks: new Map(),
    holds: new Map(),
    checks: new Map(),
  };
}

export function newSubject(id: string, order: number): SubjectState {
  return {
    id,
    order,
    status: "",
    since: "",
    title: id,
    owner: undefined,
    attempt: 0,
    max_attempts: undefined,
    depends_on: [],
    reason: undefined,
    spent: undefined,
  };
}

/** Applies the next record. Call with all records in order; `create` makes a new subject. Never throws. */
export function applyToState<S extends SubjectState>(
  state: SessionState<S>,
  { record: { received_at } }: UnsealedRecord,
  told: Telling,
  create: (id: string, order: number) => S,
): void {
  const subjectOf = (id: string) => {
    const known = state.subjects.get(id) ?? create(id, state.subjects.size);
    state.subjects.set(id, known);
    return known;
  };
  if (told.state !== undefined) state.state = told.state;
  for (const { subject: id, to, reason } of told.moves) {
    const moved = subjectOf(id);
    count(state.counts, moved.status, -1);
    count(state.counts, to, 1);
    moved.status = to;
    moved.reason = reason;
    moved.since = received_at;
  }
  for (const change of told.changed) alter(subjectOf(change.subject), change);
  const { subjects, turns, asks, holds, checks } = told.ended;
  for (const id of subjects) drop(state, id);
  for (const id of turns) state.turns.delete(id);
  for (const id of asks) state.asks.delete(id);
  for (const id of holds) state.holds.delete(id);
  for (const id of checks) state.checks.delete(id);
  for (const ask of told.asks) state.asks.set(ask.ask_id, ask);
  for (const hold of told.holds) state.holds.set(hold.hold_id, hold);
  for (const check of told.checks) state.checks.set(check.check_id, check);
  if (told.turn) state.turns.set(told.turn.turn_id, told.turn);
}

function alter(subject: SubjectState, change: ToldSubject): void {
  const { title, owner, attempt, max_attempts, depends_on, order, reason, spent } = change;
  if (title !== undefined) subject.title = title;
  if (owner !== undefined) subject.owner = owner ?? undefined;
  if (attempt !== undefined) subject.attempt = attempt;
  if (max_attempts !== undefined) subject.max_attempts = max_attempts ?? undefined;
  if (depends_on !== undefined) subject.depends_on = depends_on;
  if (order !== undefined) subject.order = order;
  if (reason !== undefined) subject.reason = reason ?? undefined;
  if (spent !== undefined) subject.spent = spent ?? undefined;
}

function drop({ subjects, counts }: SessionState, id: string): void {
  const subject = subjects.get(id);
  if (!subject) return;
  count(counts, subject.status, -1);
  subjects.delete(id);
}

/** Counts a subject in, or out of, a status. */
export function count(counts: Map<string, number>, status: string, by: number): void {
  if (status === "") return;
  const left = (counts.get(status) ?? 0) + by;
  if (left > 0) counts.set(status, left);
  else counts.delete(status);
}

/** The same from what the engine holds, in memory or in stored rows. `read` resolves titles. */
export function standingState<S>(engine: ReadEngine<S>, read: (title: Json) => string): SessionState {
  const { mode, ledger } = engine;
  const state = emptyState();
  state.state = stateOf(engine);
  for (const id of mode.ids(engine.state)) {
    const row = mode.subject(engine.state, id);
    if (!row) continue;
    const { order, status, since, owner, attempt, max_attempts, depends_on, reason, spent } = row;
    const title = read(row.title);
    const subject = { id, order, status, since, title, owner, attempt, max_attempts, depends_on, reason, spent };
    state.subjects.set(id, subject);
    count(state.counts, status, 1);
  }
  for (const { turn_id, role_id = "", subject, run, since = "" } of runningTurns(ledger))
    state.turns.set(turn_id, { turn_id, role_id, subject, run, since });
  for (const { ask_id, kind, record, subject, permission, open = [] } of ledger.asks.values())
    state.asks.set(ask_id, { ask_id, kind, record, subject, turn_id: permission?.turn_id, open });
  for (const [hold_id, hold] of ledger.holds) state.holds.set(hold_id, { hold_id, ...hold });
  for (const { check_id, subject } of ledger.checks.values()) state.checks.set(check_id, { check_id, subject });
  return state;
}

/** Reads why a subject has its status: its own reason, or one that follows from what it depends on and from who works on it. */
export function reasonReader(
  { subjects, turns, asks, checks }: SessionState,
  presentation: Presentation | undefined,
): (subject: SubjectState) => string | undefined {
  const attended = new Set([...turns.values(), ...asks.values(), ...checks.values()].map(({ subject }) => subject));
  /** Subjects that depend on nothing that is stuck or has failed. */
  const free = new Set<string>();
  const isHeldUp = ({ depends_on }: SubjectState) => {
    const ahead = [...depends_on];
    const seen = new Set<string>();
    for (let id = ahead.pop(); id !== undefined; id = ahead.pop()) {
      const before = subjects.get(id);
      if (before === undefined || free.has(id) || seen.has(id)) continue;
      const { stage } = shownStatus(presentation, before.status);
      if (stage === "stuck" || stage === "failed") return true;
      seen.add(id);
      if (stage === "waiting") ahead.push(...before.depends_on);
    }
    for (const id of seen) free.add(id);
    return false;
  };
  return (subject) => {
    if (subject.reason !== undefined) return subject.reason;
    const { held_up, unattended } = shownStatus(presentation, subject.status);
    if (unattended !== undefined && !attended.has(subject.id)) return unattended;
    return held_up !== undefined && isHeldUp(subject) ? held_up : undefined;
  };
}
