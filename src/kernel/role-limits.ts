import { defined } from "../lib/json.ts";
import { later, milliseconds } from "../protocol/timestamp.ts";
import {
  accountOf,
  type Ledger,
  type LedgerAsk,
  type LedgerHold,
  type LedgerTerms,
  put,
  type RoleBudget,
  type RoleUse,
  runsEnded,
  turnOf,
} from "./ledger.ts";
import type { Change, Fact, FactOf } from "./mode.ts";
import { isOutage } from "./outages.ts";
import { patched } from "./step.ts";

/** Prefixes for the ids of holds from a role's own limits. Role ids have no colon. A role may have one of each, and one from a failure. */
export const BUDGET_HOLD = "budget:";
export const RATE_HOLD = "rate:";

const MINUTE_MS = 60_000;

type Roles = FactOf<"session_opened">["payload"]["roles"];

/** The limits that the registry sets for single roles. */
export function roleTermsOf(roles: Roles): Pick<LedgerTerms, "budgets" | "rates"> {
  const budgets = roles.flatMap(({ role_id, budget: { turns, wall_s } = {} }) => {
    const budget = defined({ turns, wall_s });
    return Object.keys(budget).length === 0 ? [] : [[role_id, budget] as const];
  });
  // Roles of one account share a rate: their turns count together, against the lowest rate among them.
  const shared = Map.groupBy(roles, ({ role_id, account }) => (account === undefined ? `/${role_id}` : account));
  const rates = [...shared.values()].flatMap(([first, ...others]) => {
    const named = [first, ...others].flatMap((role) => role?.rate_limit?.turns_per_minute ?? []);
    if (!first || named.length === 0) return [];
    return [[[first.role_id, ...others.map(({ role_id }) => role_id)] as const, Math.min(...named)] as const];
  });
  return { ...(budgets.length > 0 ? { budgets } : {}), ...(rates.length > 0 ? { rates } : {}) };
}

export function countsTime({ terms }: Ledger, role_id: string): boolean {
  return terms.budgets?.some(([one, { wall_s }]) => one === role_id && wall_s !== undefined) === true;
}

/** Number of turns left in a role's budget. Undefined if its turns are not limited. */
export function turnsLeft({ terms, uses }: Ledger, role_id: string): number | undefined {
  const turns = terms.budgets?.find(([one]) => one === role_id)?.[1].turns;
  return turns === undefined ? undefined : turns - (uses.get(role_id)?.turns ?? 0);
}

/**
 * Adds the ledger's changes for the roles' own limits: what the step uses, given its changes so far, and the holds that follow. A session that the
 * step closes (`closed`) gets no holds.
 */
export function limitRoles(ledger: Ledger, fact: Fact, closed: boolean, changes: Change[]): void {
  if (ledger.terms.budgets) spend(ledger, fact, closed, changes);
  countAdmissions(ledger, fact, changes);
}

/** Stops a turn's time while a person decides on its permission request. */
export function stopTime(ledger: Ledger, { received_at }: Fact, { permission }: LedgerAsk, changes: Change[]): void {
  const turn = ledger.turns.get(permission?.turn_id ?? "");
  if (turn?.begun === undefined || turn.waits !== undefined) return;
  changes.push(put("turn", turn.turn_id, { ...turn, waits: received_at }));
}

/** Resumes a turn's time with the decision on the last permission that it waits for. */
export function goOnWithTime(ledger: Ledger, { received_at }: Fact, decided: string, changes: Change[]): void {
  const turn = ledger.turns.get(ledger.asks.get(decided)?.permission?.turn_id ?? "");
  if (turn?.begun === undefined || turn.waits === undefined) return;
  for (const [ask_id, { permission }] of ledger.asks)
    if (ask_id !== decided && permission?.turn_id === turn.turn_id) return;
  const waited = Math.max(0, milliseconds(received_at) - milliseconds(turn.waits));
  changes.push(put("turn", turn.turn_id, patched(turn, { begun: later(turn.begun, waited), waits: undefined })));
}

function spend(ledger: Ledger, fact: Fact, closed: boolean, changes: Change[]): void {
  const given = fact.payload_type === "turn_request" && fact.turn ? fact.payload.role_id : undefined;
  const took = timeTaken(ledger, fact, changes);
  const lost = isOutage(fact) ? turnOf(ledger, fact)?.role_id : undefined;
  const released = fact.payload_type === "user_command" && fact.payload.command === "release" && fact.payload.role_id;
  for (const [role_id, budget] of ledger.terms.budgets ?? []) {
    const id = BUDGET_HOLD + role_id;
    if (released === role_id && ledger.holds.has(id)) {
      changes.push({ drop: "hold", id }, { drop: "role_use", id: role_id });
      continue;
    }
    const before = ledger.uses.get(role_id) ?? { turns: 0, wall_ms: 0 };
    const wall_ms = took.get(role_id) ?? 0;
    // A run that began before a release is not in the count.
    const turns = Math.max(0, before.turns + (role_id === given ? 1 : 0) - (role_id === lost ? 1 : 0));
    const after: RoleUse = { turns, wall_ms: before.wall_ms + wall_ms };
    const isUsed = turns !== before.turns || wall_ms > 0;
    if (isUsed) changes.push(put("role_use", role_id, after));
    // A turn that an outage ended may have been the last.
    if (role_id === lost && ledger.holds.has(id)) changes.push({ drop: "hold", id });
    // Closing a session ends its holds. When it is reopened, roles whose budget was spent are held again.
    if (closed || (ledger.holds.has(id) && role_id !== lost) || !(isUsed || fact.payload_type === "session_reopened"))
      continue;
    const limit = limitReached(budget, after);
    if (!limit) continue;
    changes.push(put("hold", id, { role_id, reason: "budget_exhausted", since: fact.received_at, limit }));
  }
}

function limitReached({ turns, wall_s }: RoleBudget, use: RoleUse): LedgerHold["limit"] {
  if (turns !== undefined && use.turns >= turns) return { limit: "role_turns", used: use.turns, max: turns };
  if (wall_s === undefined || use.wall_ms < wall_s * 1000) return undefined;
  return { limit: "role_wall_s", used: Math.floor(use.wall_ms / 1000), max: wall_s };
}

/** The time taken by the runs that end with this step, in ms by role. A stop ends all runs. After a crash, nobody knows when they ended. */
function timeTaken(ledger: Ledger, fact: Fact, changes: readonly Change[]): ReadonlyMap<string, number> {
  const took = new Map<string, number>();
  if (fact.payload_type === "session_recovered") return took;
  const ended = runsEnded(ledger, changes);
  if (fact.payload_type === "session_stopped") {
    for (const turn of ledger.turns.values()) if (turn.status === "open") ended.add(turn);
  }
  for (const { role_id = "", begun, waits = fact.received_at } of ended) {
    if (begun === undefined) continue;
    const time = Math.max(0, milliseconds(waits) - milliseconds(begun));
    took.set(role_id, (took.get(role_id) ?? 0) + time);
  }
  return took;
}

/** Converts a rate to whole turns: at most `most` in any `window_ms`. A rate below one per minute is one turn in a longer window. */
export function windowOf(
  per_minute: number,
  minute_ms = MINUTE_MS,
): { readonly most: number; readonly window_ms: number } {
  return { most: Math.max(1, Math.floor(per_minute)), window_ms: minute_ms / Math.min(1, per_minute) };
}

function countAdmissions(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const { received_at: since } = fact;
  const given = fact.payload_type === "turn_request" && fact.turn ? fact.payload.role_id : undefined;
  if (given === undefined && fact.payload_type !== "session_reopened") return;
  for (const [roles, turns_per_minute] of ledger.terms.rates ?? []) {
    const isGiven = given !== undefined && roles.includes(given);
    if (given !== undefined && !isGiven) continue;
    const { most, window_ms } = windowOf(turns_per_minute);
    const before = ledger.admissions.get(roles[0]) ?? [];
    const admitted = isGiven ? [...before, since].slice(-most) : before;
    if (isGiven) changes.push(put("admissions", roles[0], admitted));
    const [oldest] = admitted;
    if (oldest === undefined || admitted.length < most) continue;
    const until = later(oldest, window_ms);
    const limit = { limit: "turns_per_minute", used: most, max: turns_per_minute };
    for (const role_id of roles) {
      const id = RATE_HOLD + role_id;
      if (milliseconds(until) > milliseconds(since)) {
        const account = defined({ account: accountOf(ledger, role_id) });
        changes.push(put("hold", id, { role_id, reason: "rate_limited", until, since, ...account, limit }));
      } else if (ledger.holds.has(id)) changes.push({ drop: "hold", id });
    }
  }
}
