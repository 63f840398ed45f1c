import { defined, type JsonObject } from "../lib/json.ts";
import type { Budget } from "../protocol/payload.ts";
import type { ChangedFiles, Conversation, QuotaWindow } from "../protocol/record.ts";
import type { Hold } from "../protocol/telling.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type {
  Ask,
  AskedPermission,
  Change,
  Fact,
  LimitUsed,
  OfferTurn,
  OpenSession,
  Outcome,
  RunChecks,
  SetTimer,
  TurnStamp,
} from "./mode.ts";

/** A turn: `offered` to a seat, `open` with an agent, or in doubt after a crash, when a person is `asked` whether to repeat it. */
export interface LedgerTurn extends Omit<OfferTurn, "do"> {
  /** Counts from 1. A recovery or a hold repeats the turn with a higher run. */
  readonly run: number;
  readonly status: "offered" | "open" | "asked";
  /** The role that holds it, or held it last. */
  readonly role_id?: string;
  /** Set if a run was cut short. The agent of the next run is told. */
  readonly interrupted?: boolean;
  /** The program's conversation in the run that was cut short. */
  readonly conversation?: Conversation;
  /** The conversation that its current run continues or copied. */
  readonly chosen?: Conversation;
  /** Set if no later turn continues its conversation. */
  readonly alone?: boolean;
  /** Set if the machine slept while it ran. */
  readonly slept?: boolean;
  /** Set if its current run was cut off and has reported its usage. */
  readonly told?: boolean;
  /** Number of schedulers that died while it was open. */
  readonly recoveries?: number;
  /** Number of times that it led to a hold of its role. */
  readonly held?: number;
  /** When its current or last run was requested. */
  readonly since?: Instant;
  /** When the run began, shifted by the time that the machine slept or the turn waited for a person. Set only for roles with a time budget. */
  readonly begun?: Instant;
  /** When it began to wait for a person's permission. Set only if `begun` is. */
  readonly waits?: Instant;
}

/** The stamp of the facts that belong to the turn's current run. */
export function stampOf({ turn_id, attempt, run, subject }: LedgerTurn): TurnStamp {
  return { turn_id, attempt, run, ...defined({ subject }) };
}

/** The turn, offered again after a run that was cut short. */
export function offeredAgain(turn: LedgerTurn): LedgerTurn {
  return { ...turn, status: "offered", run: turn.run + 1, interrupted: true };
}

/** The turn that a fact belongs to, as it is before the fact. */
export function turnOf({ turns }: Ledger, { turn }: Fact): LedgerTurn | undefined {
  return turn && turns.get(turn.turn_id);
}

/** Something that a person must answer. */
export type LedgerAsk = Omit<Ask, "do">;

/**
 * A person's decision on a permission that also applies to later requests, keyed by the ask's id. It is undecided if the turn was cut short while a
 * person was asked; the decision then applies to that turn.
 */
export interface LedgerGrant extends AskedPermission {
  readonly subject?: string;
  readonly granted?: boolean;
  readonly scope?: "once" | "ticket" | "session" | "prefix";
}

/** Executable criteria that are running. */
export type LedgerChecks = Omit<RunChecks, "do">;

/** A child session as its parent knows it, from `open_session` to its end. Once it has begun, its part of the parent's budget is reserved for it. */
export interface LedgerChild extends Omit<OpenSession, "do"> {
  readonly status: "offered" | "open" | "withdrawn";
  /** Why it was withdrawn. */
  readonly reason?: string;
}

/** The details of a stop: the limit that was reached, or the signal. */
export interface StopKept extends Partial<LimitUsed> {
  readonly signal?: "SIGINT" | "SIGTERM" | "SIGHUP";
}

/** By role id; holds from a role's own limits have their own ids (`role-limits.ts`). */
export type LedgerHold = Hold;

/** The budget that the registry gives a role. A person who releases the role grants it again. */
export type RoleBudget = Pick<Budget, "turns" | "wall_s">;

/** What a role has used of its budget since the budget was last granted. */
export interface RoleUse {
  readonly turns: number;
  /** Total time of its turns. */
  readonly wall_ms: number;
}

/** The part of the configuration and the role table that holds and role limits need. */
export interface LedgerTerms {
  /** Maximum time that a role may be held before the session stops, in seconds. */
  readonly max_hold_s?: number;
  /** Minimum length of a turn's first hold, in ms. It doubles with each further hold. */
  readonly retry_backoff_ms?: number;
  /** Set in a child session. */
  readonly child?: boolean;
  /** The account of each role that has one. */
  readonly accounts: readonly (readonly [role_id: string, account: string])[];
  /** The percentage of its quota windows that an account keeps in reserve. */
  readonly reserves?: readonly (readonly [account: string, percent: number])[];
  /** The budget of each role that has one. */
  readonly budgets?: readonly (readonly [role_id: string, budget: RoleBudget])[];
  /** Roles that share a rate limit, and the maximum number of turns per minute that they may take together. */
  readonly rates?: readonly (readonly [roles: readonly [string, ...string[]], turns_per_minute: number])[];
}

/** The quota windows of an account, as its programs last reported them. */
export interface LedgerQuota {
  readonly windows: readonly QuotaWindow[];
  readonly at: Instant;
  /** Until this time, a person lets the account use its reserve. */
  readonly waived?: Instant;
}

/** What the ended turns of a role, or of a subject, have used. */
export interface LedgerSpend {
  readonly turns: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  readonly cost_usd: number;
  /** Number of turns whose program was not there, or could not be started. */
  readonly unstarted_turns?: number;
  /** Number of turns that did not report all their tokens. */
  readonly untold_turns: number;
  /** Number of turns that did not report their cost. */
  readonly unpriced_turns: number;
  /** Set if some of the cost was computed as tokens times the role's price. */
  readonly computed?: boolean;
}

/** The session's usage, and whether it is paused, stopped or closed. */
export interface LedgerFigures {
  /** Turns given to an agent, counting each run. */
  readonly turns: number;
  /** Those of them that an outage ended. They do not count towards a budget. */
  readonly lost_turns?: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  readonly cost_usd: number;
  /** Runs that ended or were cut short without reporting their cost. If there are any, the session's cost is unknown, not zero. */
  readonly unpriced_turns: number;
  /** Runs that ended or were cut short without reporting their tokens. */
  readonly untold_turns?: number;
  /** The roles and child sessions that did not report their tokens or cost since a person last set a limit of that kind. */
  readonly untold?: { readonly tokens?: readonly string[]; readonly usd?: readonly string[] };
  readonly recoveries: number;
  readonly paused?: boolean;
  /** The session is stopping; its open turns are being ended. */
  readonly stopping?: boolean;
  /** The last recorded stop, until the session is resumed. */
  readonly stopped?: StopKept & { readonly reason: string; readonly message: string };
  readonly closed?: { readonly outcome: Outcome; readonly reason?: string };
  /** The limits that a person has set since the session was opened. */
  readonly limits?: JsonObject;
}

/** The type of the values in each ledger collection, as they are stored. */
export interface LedgerValues {
  readonly turn: LedgerTurn;
  readonly timer: Pick<SetTimer, "due_at" | "passive">;
  readonly ask: LedgerAsk;
  readonly check: LedgerChecks;
  readonly child: LedgerChild;
  readonly hold: LedgerHold;
  /** By role id, for roles with a budget. */
  readonly role_use: RoleUse;
  /** When the latest turns were given to roles with a rate limit, by the first role that shares it. */
  readonly admissions: readonly Instant[];
  readonly grant: LedgerGrant;
  /** The latest conversation of each role about each subject, and about the session (`conversations.ts`). */
  readonly conversation: Conversation;
  /** By role and by subject (`spends.ts`). */
  readonly spend: LedgerSpend;
  /** By account (`quota.ts`). */
  readonly quota: LedgerQuota;
  /** What the turns about each subject have changed in the workspace (`changes.ts`). */
  readonly change: ChangedFiles;
  readonly terms: LedgerTerms;
  readonly figures: LedgerFigures;
}

/** The map of each collection. The other two collections, `terms` and `figures`, are single values. */
const MAP_OF = {
  turn: "turns",
  timer: "timers",
  ask: "asks",
  check: "checks",
  child: "children",
  hold: "holds",
  role_use: "uses",
  admissions: "admissions",
  grant: "grants",
  conversation: "conversations",
  spend: "spends",
  quota: "quotas",
  change: "changes",
} as const satisfies Record<Exclude<keyof LedgerValues, "terms" | "figures">, string>;

type LedgerMaps = { readonly [C in keyof typeof MAP_OF as (typeof MAP_OF)[C]]: Map<string, LedgerValues[C]> };

/**
 * The engine's own state of a session: what is open, and what was used. It works like a mode's state: only `applyToLedger` writes to it, it follows
 * from facts and their commands alone, and it is stored as rows. So a replay reaches the same ledger.
 */
export interface Ledger extends LedgerMaps {
  terms: LedgerTerms;
  figures: LedgerFigures;
}

/** The collections of the engine. A mode MUST NOT use these names. */
export const LEDGER_COLLECTIONS: ReadonlySet<string> = new Set([...Object.keys(MAP_OF), "terms", "figures"]);

/**
 * The collections of the runtime: the processes that it started, the conversations that they began, and the notifications that it sent, which it needs
 * after a crash; its clock, which others read; and the version of the mode's rows. They do not follow from facts, so a replay does not create them.
 */
export const RUNTIME_COLLECTIONS: ReadonlySet<string> = new Set(["process", "conversing", "told", "clock", "rows"]);

export function emptyLedger(): Ledger {
  return {
    ...(Object.fromEntries(Object.values(MAP_OF).map((name) => [name, new Map()])) as unknown as LedgerMaps),
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

/** Makes a write to the ledger. The value must be plain data. */
export function put<C extends keyof LedgerValues>(collection: C, id: string, value: LedgerValues[C]): Change {
  return { put: collection, id, value: value as unknown as JsonObject };
}

/** The account of a role, if it has one. */
export function accountOf({ terms }: Pick<Ledger, "terms">, role_id: string): string | undefined {
  return terms.accounts.find(([one]) => one === role_id)?.[1];
}

/** The role whose turn ended with this fact. The scheduler reports failures, and names the role. */
export function roleOf({ turns }: Ledger, fact: Fact): string | undefined {
  if (fact.payload_type !== "turn_failed") return fact.source;
  return fact.payload.role_id ?? turns.get(fact.payload.turn_id)?.role_id;
}

/** The turns whose current run ends with a step, given the step's changes to the ledger. */
export function runsEnded(ledger: Ledger, changes: readonly Change[]): Set<LedgerTurn> {
  const ended = new Set<LedgerTurn>();
  for (const change of changes) {
    if (("put" in change ? change.put : change.drop) !== "turn") continue;
    const before = ledger.turns.get(change.id);
    const after = "put" in change ? (change.value as unknown as LedgerTurn) : undefined;
    if (before?.status === "open" && after?.status !== "open") ended.add(before);
  }
  return ended;
}
