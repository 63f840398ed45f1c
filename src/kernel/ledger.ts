import type { JsonObject } from "../lib/json.ts";
import { isNotice, type Usage } from "../protocol/payload.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Change, Command, CriterionReference, Fact, Outcome, Seat, TurnStamp } from "./mode.ts";

/** A turn that somebody should take (`offered`) or holds (`open`). */
export interface LedgerTurn {
  readonly turn_id: string;
  readonly seat: Seat;
  readonly reserve?: Seat;
  readonly subject?: string;
  readonly priority: number;
  readonly attempt: number;
  /** Which carrying-out this is, from 1: a recovery or a hold repeats the turn under a higher run. */
  readonly run: number;
  readonly status: "offered" | "open";
  readonly role_id?: string;
  /** It was begun and cut short: a recovery repeats it, and whoever takes it is told. */
  readonly interrupted?: boolean;
  /** How often its scheduler died on it. */
  readonly recoveries?: number;
}

/** What the facts of a turn's present run carry. */
export function stampOf({ turn_id, attempt, run, subject }: LedgerTurn): TurnStamp {
  return { turn_id, attempt, run, ...(subject === undefined ? {} : { subject }) };
}

/** A stored alarm. A passive one only watches: a session in which nothing else is open does not wait for it. */
export interface LedgerTimer {
  readonly due_at: Instant;
  readonly passive?: boolean;
}

/** What a person must answer. `record` is where the text stands. */
export interface LedgerAsk {
  readonly ask_id: string;
  readonly kind: "questions" | "approval" | "review";
  readonly record: number;
  readonly subject?: string;
}

export interface LedgerChecks {
  readonly check_id: string;
  readonly subject?: string;
  readonly criteria: readonly CriterionReference[];
}

/** A role that may take no turns until then, or until a person releases it. */
export interface LedgerHold {
  readonly role_id: string;
  readonly reason: string;
  readonly until?: Instant;
}

/** What the engine knows of a session besides its mode: figures, and how it stands. */
export interface LedgerFigures {
  readonly turns: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  readonly cost_usd: number;
  /** Turns that did not say what they cost: with any of these the session's cost is unknown, not zero. */
  readonly unpriced_turns: number;
  readonly recoveries: number;
  readonly paused?: boolean;
  readonly stopped?: { readonly reason: string; readonly message: string };
  readonly closed?: { readonly outcome: Outcome; readonly reason?: string };
  readonly limits?: JsonObject;
}

/**
 * The engine's own account of a session, kept like a mode's state: written only by `applyToLedger`, derived only from facts and
 * the commands that follow from them. So it is stored as rows, and a replay arrives at the same one.
 */
export interface Ledger {
  readonly turns: Map<string, LedgerTurn>;
  readonly timers: Map<string, LedgerTimer>;
  readonly asks: Map<string, LedgerAsk>;
  readonly checks: Map<string, LedgerChecks>;
  readonly holds: Map<string, LedgerHold>;
  figures: LedgerFigures;
}

/** The collections that belong to the engine; a mode's may not have these names. */
export const LEDGER_COLLECTIONS: ReadonlySet<string> = new Set(["turn", "timer", "ask", "check", "hold", "figures"]);

export function emptyLedger(): Ledger {
  return {
    turns: new Map(),
    timers: new Map(),
    asks: new Map(),
    checks: new Map(),
    holds: new Map(),
    figures: {
      turns: 0,
      input_tokens: 0,
      output_tokens: 0,
      cached_tokens: 0,
      cost_usd: 0,
      unpriced_turns: 0,
      recoveries: 0,
    },
  };
}

export function applyToLedger(ledger: Ledger, change: Change): void {
  const collection = "put" in change ? change.put : change.drop;
  const value = "put" in change ? (change.value as unknown) : undefined;
  switch (collection) {
    case "turn":
      return set(ledger.turns, change.id, value as LedgerTurn | undefined);
    case "timer":
      return set(ledger.timers, change.id, value as LedgerTimer | undefined);
    case "ask":
      return set(ledger.asks, change.id, value as LedgerAsk | undefined);
    case "check":
      return set(ledger.checks, change.id, value as LedgerChecks | undefined);
    case "hold":
      return set(ledger.holds, change.id, value as LedgerHold | undefined);
    case "figures":
      ledger.figures = value as LedgerFigures;
      return;
    default:
      throw new Error(`the ledger has no collection "${collection}"`);
  }
}

function set<V>(map: Map<string, V>, id: string, value: V | undefined): void {
  if (value === undefined) map.delete(id);
  else map.set(id, value);
}

/** What a fact needs to show that it is not too late: the turn and run, timer or checks that it ends must be open. */
export function isLate(ledger: Ledger, fact: Fact): boolean {
  if (fact.turn && fact.payload_type !== "turn_request") {
    const turn = ledger.turns.get(fact.turn.turn_id);
    return turn?.status !== "open" || turn.run !== fact.turn.run;
  }
  if (fact.payload_type === "timer_fired") return !ledger.timers.has(fact.payload.timer_id);
  if (fact.payload_type === "check_result") return !ledger.checks.has(fact.payload.check_id);
  return ledger.figures.closed !== undefined && fact.payload_type !== "session_reopened";
}

/** What an agent says on the way does not end its turn. */
function endsTurn(fact: Fact): boolean {
  return fact.turn !== undefined && fact.payload_type !== "turn_request" && !isNotice(fact);
}

/**
 * A rate limit or a failed log-in is the role's trouble and not the turn's: the role is held, the turn stays offered, no attempt
 * is spent, and the mode is not told.
 */
export function isHold(fact: Fact): boolean {
  if (!fact.turn || (fact.payload_type !== "turn_failed" && fact.payload_type !== "error")) return false;
  return fact.payload.code === "rate_limited" || fact.payload.code === "authentication";
}

/** The engine's changes that follow from a fact and the commands its step gave. */
export function account(ledger: Ledger, fact: Fact, commands: readonly Command[]): Change[] {
  const changes: Change[] = [];
  const figures = figuresAfter(ledger.figures, fact);
  if (fact.payload_type === "turn_request" && fact.turn) openTurn(ledger, fact, fact.turn, changes);
  else if (isHold(fact)) hold(ledger, fact, changes);
  else if (endsTurn(fact) && fact.turn) changes.push({ drop: "turn", id: fact.turn.turn_id });
  if (fact.payload_type === "timer_fired") changes.push({ drop: "timer", id: fact.payload.timer_id });
  if (fact.payload_type === "check_result") changes.push({ drop: "check", id: fact.payload.check_id });
  if (fact.payload_type === "session_recovered") {
    for (const { turn_id, run } of fact.payload.turns) {
      const turn = ledger.turns.get(turn_id);
      if (!turn) continue;
      const recoveries = (turn.recoveries ?? 0) + (fact.payload.graceful ? 0 : 1);
      changes.push(put("turn", turn_id, { ...turn, run, status: "offered", interrupted: true, recoveries }));
    }
    for (const id of ledger.holds.keys()) if (!ledger.holds.get(id)?.until) changes.push({ drop: "hold", id });
  }
  if (fact.payload_type === "user_command" && fact.payload.command === "release" && fact.payload.role_id) {
    changes.push({ drop: "hold", id: fact.payload.role_id });
  }
  let after = figures;
  for (const command of commands) after = carry(ledger, fact, command, after, changes);
  if (after !== ledger.figures) changes.push(put("figures", "figures", after));
  return changes;
}

function carry(ledger: Ledger, fact: Fact, command: Command, figures: LedgerFigures, changes: Change[]): LedgerFigures {
  switch (command.do) {
    case "offer_turn": {
      const { do: _, ...turn } = command;
      changes.push(put("turn", turn.turn_id, { ...turn, run: 1, status: "offered" }));
      return figures;
    }
    case "withdraw_turn":
      changes.push({ drop: "turn", id: command.turn_id });
      return figures;
    case "ask": {
      const { do: _, ...ask } = command;
      changes.push(put("ask", ask.ask_id, ask));
      return figures;
    }
    case "clear_ask":
      changes.push({ drop: "ask", id: command.ask_id });
      return figures;
    case "set_timer":
      changes.push(
        put("timer", command.timer_id, { due_at: command.due_at, ...(command.passive ? { passive: true } : {}) }),
      );
      return figures;
    case "clear_timer":
      changes.push({ drop: "timer", id: command.timer_id });
      return figures;
    case "run_checks": {
      const { do: _, ...checks } = command;
      changes.push(put("check", checks.check_id, checks));
      return figures;
    }
    case "drop_checks":
      changes.push({ drop: "check", id: command.check_id });
      return figures;
    case "stop_session":
      return { ...figures, stopped: { reason: command.reason, message: command.message } };
    case "finish":
      for (const id of ledger.turns.keys()) if (id !== fact.turn?.turn_id) changes.push({ drop: "turn", id });
      for (const id of ledger.timers.keys()) changes.push({ drop: "timer", id });
      for (const id of ledger.asks.keys()) changes.push({ drop: "ask", id });
      for (const id of ledger.checks.keys()) changes.push({ drop: "check", id });
      for (const id of ledger.holds.keys()) changes.push({ drop: "hold", id });
      return {
        ...figures,
        closed: { outcome: command.outcome, ...(command.reason === undefined ? {} : { reason: command.reason }) },
      };
  }
}

function openTurn(ledger: Ledger, fact: Fact, stamp: TurnStamp, changes: Change[]): void {
  const turn = ledger.turns.get(stamp.turn_id);
  if (!turn || fact.payload_type !== "turn_request") return;
  changes.push(put("turn", turn.turn_id, { ...turn, status: "open", role_id: fact.payload.role_id, run: stamp.run }));
}

function hold(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = fact.turn && ledger.turns.get(fact.turn.turn_id);
  if (!turn || (fact.payload_type !== "turn_failed" && fact.payload_type !== "error")) return;
  const until = fact.payload.details?.retry_at;
  const role_id = turn.role_id ?? "";
  changes.push(put("turn", turn.turn_id, { ...turn, status: "offered", run: turn.run + 1 }));
  changes.push(
    put("hold", role_id, { role_id, reason: fact.payload.code, ...(typeof until === "string" ? { until } : {}) }),
  );
}

function figuresAfter(figures: LedgerFigures, fact: Fact): LedgerFigures {
  switch (fact.payload_type) {
    case "turn_request":
      return { ...figures, turns: figures.turns + 1 };
    case "session_stopped":
      return { ...figures, stopped: { reason: fact.payload.reason, message: fact.payload.message } };
    case "session_recovered": {
      const { stopped: _, ...rest } = figures;
      const recoveries = rest.recoveries + (fact.payload.graceful ? 0 : 1);
      return {
        ...rest,
        recoveries,
        ...(fact.payload.limits ? { limits: { ...rest.limits, ...fact.payload.limits } } : {}),
      };
    }
    case "session_reopened": {
      // A stop or a pause from before its end would keep it from doing what it was reopened for.
      const { closed: _, stopped: __, paused: ___, ...rest } = figures;
      return rest;
    }
    case "user_command": {
      const { command, limits } = fact.payload;
      if (command === "pause") return { ...figures, paused: true };
      if (command === "limits" && limits) return { ...figures, limits: { ...figures.limits, ...limits } };
      if (command !== "resume") return figures;
      const { paused: _, ...rest } = figures;
      return rest;
    }
    default:
      return endsTurn(fact) ? withUsage(figures, fact.usage) : figures;
  }
}

function withUsage(figures: LedgerFigures, usage: Usage | undefined): LedgerFigures {
  return {
    ...figures,
    input_tokens: figures.input_tokens + (usage?.input_tokens ?? 0),
    output_tokens: figures.output_tokens + (usage?.output_tokens ?? 0),
    cached_tokens: figures.cached_tokens + (usage?.cached_tokens ?? 0),
    cost_usd: figures.cost_usd + (usage?.cost_usd ?? 0),
    unpriced_turns: figures.unpriced_turns + (usage?.cost_usd === undefined ? 1 : 0),
  };
}

function put(collection: string, id: string, value: unknown): Change {
  return { put: collection, id, value: value as JsonObject };
}
