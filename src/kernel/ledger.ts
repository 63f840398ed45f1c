import type { JsonObject } from "../lib/json.ts";
import type { Budget } from "../protocol/payload.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Change, CriterionReference, LimitUsed, Outcome, Seat, TurnStamp } from "./mode.ts";

/** A turn that somebody should take (`offered`) or holds (`open`), or of which a person is asked whether it shall run again (`asked`). */
export interface LedgerTurn {
  readonly turn_id: string;
  readonly seat: Seat;
  readonly reserve?: Seat;
  readonly subject?: string;
  readonly priority: number;
  readonly attempt: number;
  /** Which carrying-out this is, from 1: a recovery or a hold repeats the turn under a higher run. */
  readonly run: number;
  readonly status: "offered" | "open" | "asked";
  readonly role_id?: string;
  /** It was begun and cut short: a recovery repeats it, and whoever takes it is told. */
  readonly interrupted?: boolean;
  /** The machine slept while it ran. */
  readonly slept?: boolean;
  /** How often its scheduler died on it. */
  readonly recoveries?: number;
  /** How often its role was held for it. */
  readonly held?: number;
  /** Since when its role's time is counted, where that is limited: when the run was given, and later by what the machine slept. */
  readonly begun?: Instant;
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

/** A child session as its parent knows it, from when its mode asked for it to its end. */
export interface LedgerChild {
  readonly child: string;
  readonly mode: string;
  readonly subject?: string;
  /** With texts as references into the parent's log. */
  readonly input: JsonObject;
  /** What it may use; since it was begun, what is kept for it of the parent's own. */
  readonly budget: Budget;
  readonly status: "offered" | "open" | "withdrawn";
  /** Why it was withdrawn. */
  readonly reason?: string;
}

/** What tells more of a stop than its reason: the limit that was reached, or the signal. */
export interface StopKept extends Partial<LimitUsed> {
  readonly signal?: "SIGINT" | "SIGTERM" | "SIGHUP";
}

/** A role that may take no turns until then, or until a person releases it. */
export interface LedgerHold {
  readonly role_id: string;
  /** The code of the failure that held it, or of what it has used up. */
  readonly reason: string;
  /** When it ends by itself; without it only a person ends it. */
  readonly until?: Instant;
  /** From when it is held, without a break. */
  readonly since?: Instant;
  /** The account whose roles are all held with it. */
  readonly account?: string;
  /** The limit that the registry sets to the role itself, if that holds it and no failure does. */
  readonly limit?: LimitUsed;
}

/** The most that the registry lets a role use before a person gives it as much again. */
export interface RoleBudget {
  readonly turns?: number;
  readonly wall_s?: number;
}

/** What a role with a budget has used of it since it was given it. */
export interface RoleUse {
  readonly turns: number;
  /** How long its turns took in all. */
  readonly wall_ms: number;
}

/** What the session was opened under, as far as its holds go by it. */
export interface LedgerTerms {
  /** Seconds that a role may be held before the session stops. */
  readonly max_hold_s?: number;
  /** What the shortest hold grows from, in ms. */
  readonly retry_backoff_ms?: number;
  /** The roles that work under an account, each with it. */
  readonly accounts: readonly (readonly [role_id: string, account: string])[];
  /** The roles with a budget of their own, each with it. */
  readonly budgets?: readonly (readonly [role_id: string, budget: RoleBudget])[];
  /** The roles that share a rate, and how many turns a minute they may take together. */
  readonly rates?: readonly (readonly [roles: readonly [string, ...string[]], turns_per_minute: number])[];
}

/** What the engine knows of a session besides its mode: figures, and how it stands. */
export interface LedgerFigures {
  readonly turns: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  readonly cost_usd: number;
  /** Runs that did not say what they cost, or were cut short before: with any of these the session's cost is unknown, not zero. */
  readonly unpriced_turns: number;
  /** The roles whose turns did not say how many tokens they took, or what they cost, since a person last set such a limit. */
  readonly untold?: { readonly tokens?: readonly string[]; readonly usd?: readonly string[] };
  readonly recoveries: number;
  readonly paused?: boolean;
  /** It was decided that it stops; what runs is being ended. */
  readonly stopping?: boolean;
  /** What the log says of its stop. */
  readonly stopped?: StopKept & { readonly reason: string; readonly message: string };
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
  readonly children: Map<string, LedgerChild>;
  /** By role id those that failures brought; those of a role's own limits have ids of their own (`role-limits.ts`). */
  readonly holds: Map<string, LedgerHold>;
  /** By role id, of roles with a budget. */
  readonly uses: Map<string, RoleUse>;
  /** When turns were lately given to roles with a rate, by the first role of those that share it. */
  readonly admissions: Map<string, readonly Instant[]>;
  terms: LedgerTerms;
  figures: LedgerFigures;
}

/** What is stored of it: the value of each of its collections. */
export interface LedgerValues {
  readonly turn: LedgerTurn;
  readonly timer: LedgerTimer;
  readonly ask: LedgerAsk;
  readonly check: LedgerChecks;
  readonly child: LedgerChild;
  readonly hold: LedgerHold;
  readonly role_use: RoleUse;
  readonly admissions: readonly Instant[];
  readonly terms: LedgerTerms;
  readonly figures: LedgerFigures;
}

/** Which of its maps keeps the rows of a collection. The others, `terms` and `figures`, are single values. */
const MAP_OF = {
  turn: "turns",
  timer: "timers",
  ask: "asks",
  check: "checks",
  child: "children",
  hold: "holds",
  role_use: "uses",
  admissions: "admissions",
} as const satisfies Record<Exclude<keyof LedgerValues, "terms" | "figures">, keyof Ledger>;

/** The collections that belong to the engine; a mode's may not have these names. */
export const LEDGER_COLLECTIONS: ReadonlySet<string> = new Set([...Object.keys(MAP_OF), "terms", "figures"]);

/**
 * The collections that belong to neither the engine nor a mode: the processes that the scheduler started, and what people were
 * told of. It must find them again after a crash. No fact gives them, so no replay does.
 */
export const RUNTIME_COLLECTIONS: ReadonlySet<string> = new Set(["process", "told"]);

export function emptyLedger(): Ledger {
  return {
    turns: new Map(),
    timers: new Map(),
    asks: new Map(),
    checks: new Map(),
    children: new Map(),
    holds: new Map(),
    uses: new Map(),
    admissions: new Map(),
    terms: { accounts: [] },
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
  const collection = ("put" in change ? change.put : change.drop) as keyof LedgerValues;
  const value = "put" in change ? (change.value as unknown) : undefined;
  if (collection === "terms") ledger.terms = value as LedgerTerms;
  else if (collection === "figures") ledger.figures = value as LedgerFigures;
  else {
    const map: Map<string, unknown> | undefined = ledger[MAP_OF[collection]];
    if (map === undefined) throw new Error(`the ledger has no collection "${collection}"`);
    if (value === undefined) map.delete(change.id);
    else map.set(change.id, value);
  }
}

/** A write to the ledger; what it is given must be plain data. */
export function put<C extends keyof LedgerValues>(collection: C, id: string, value: LedgerValues[C]): Change {
  return { put: collection, id, value: value as unknown as JsonObject };
}
