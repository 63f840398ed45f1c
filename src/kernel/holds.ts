import { defined } from "../lib/json.ts";
import { cut } from "../protocol/refusal.ts";
import { type Instant, later, milliseconds, parseInstant } from "../protocol/timestamp.ts";
import { withConversation } from "./conversations.ts";
import {
  accountOf,
  type Ledger,
  type LedgerHold,
  type LedgerTerms,
  type LedgerTurn,
  offeredAgain,
  put,
  turnOf,
} from "./ledger.ts";
import { outageAfter, UNAVAILABLE, whileTrying } from "./outages.ts";
import { QUOTA_HOLD, reservesOf } from "./quota.ts";
import { BUDGET_HOLD, RATE_HOLD, roleTermsOf } from "./role-limits.ts";
import type { Change, Command, Fact, FactOf } from "./mode.ts";
import { backoff } from "./step.ts";

/** Failures of a role or its account, not of the turn in which they happened. */
const HOLDING_CODES: ReadonlySet<string> = new Set(["rate_limited", "authentication", "trust", UNAVAILABLE]);

/** The failure of a role whose program cannot be started here. Only the scheduler reports it. */
export const ENVIRONMENT = "environment";

/** Maximum number of characters that a hold keeps of what cannot be started, and why. */
const MAX_SAID = 500;

/** The prefix of the engine's own timers. The mode does not see them. */
const HOLD_TIMER = "hold:";

/** What a person can do about each reason. */
const REMEDIES: Readonly<Record<string, string>> = {
  rate_limited: "wait until its limit allows work again",
  authentication: "log in with its program",
  trust: "let its program trust the workspace",
  unavailable: "wait until it is there again",
  environment: "make its program start here",
  quota_reserved: "wait for the reset, or release it to use the reserve of its account",
  budget_exhausted: "release it to give it its budget once more",
};

/** The terms of a session, from its opening. */
export function termsOf(fact: FactOf<"session_opened">): LedgerTerms {
  const { max_hold_s, retry_backoff_ms } = fact.payload.config as { max_hold_s?: number; retry_backoff_ms?: number };
  return {
    ...defined({ max_hold_s, retry_backoff_ms, child: fact.payload.parent && true }),
    accounts: fact.payload.roles.flatMap(({ role_id, account }) =>
      account === undefined ? [] : [[role_id, account] as const],
    ),
    ...roleTermsOf(fact.payload.roles),
    ...reservesOf(fact),
  };
}

/**
 * Whether a fact reports a failure of its role: a limit, the login, trust, an outage, or a program that cannot be started. The role is then held, the
 * turn stays offered without spending an attempt, and the mode does not see the fact.
 */
export function isHold(fact: Fact): boolean {
  if (!fact.turn || (fact.payload_type !== "turn_failed" && fact.payload_type !== "error")) return false;
  return isHoldingCode(fact.payload_type, fact.payload.code);
}

export function isHoldingCode(payload_type: "turn_failed" | "error", code: string): boolean {
  return HOLDING_CODES.has(code) || (payload_type === "turn_failed" && code === ENVIRONMENT);
}

/** Holds the role of the failed turn and, unless its program cannot be started, all roles of its account. A hold can only be extended. */
export function hold(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = turnOf(ledger, fact);
  if (!turn || (fact.payload_type !== "turn_failed" && fact.payload_type !== "error")) return;
  const { code, message, details, resolution_hint = "" } = fact.payload;
  const at = fact.received_at;
  const heldBefore = turn.held ?? 0;
  const again: LedgerTurn = {
    ...offeredAgain(withConversation(turn, fact)),
    ...(code === UNAVAILABLE ? {} : { held: heldBefore + 1 }),
  };
  changes.push(put("turn", turn.turn_id, again));
  const role_id = turn.role_id ?? "";
  const before = ledger.holds.get(role_id);
  const standing = before && isHeldAt(before, at) ? before : undefined;
  const retry_at = endTold(details?.retry_at);
  const until = notBefore(shortestEnd(ledger, heldBefore, fact), retry_at);
  // `max_hold_s` does not count the time of an outage.
  const since = (standing?.reason === UNAVAILABLE ? undefined : standing?.since) ?? at;
  const said = code === ENVIRONMENT ? cut(`${message} ${resolution_hint}`.trim(), MAX_SAID) : undefined;
  const next: Omit<LedgerHold, "role_id"> =
    code === UNAVAILABLE
      ? outageAfter(before, turn, at, retry_at)
      : { reason: code, since, ...defined({ until, said }) };
  const [ended, ends] = [endsAt(standing?.until), endsAt(next.until)];
  const longer = standing && (ended > ends || (ended === ends && code !== UNAVAILABLE)) ? standing : next;
  const account = code === ENVIRONMENT ? undefined : accountOf(ledger, role_id);
  for (const one of account === undefined ? [role_id] : sharing(ledger, role_id))
    changes.push(put("hold", one, { ...longer, role_id: one, ...defined({ account }) }));
  const { max_hold_s } = ledger.terms;
  if (longer !== next || code === UNAVAILABLE || since !== at || max_hold_s === undefined) return;
  changes.push(put("timer", holdTimerOf(ledger, role_id), { due_at: later(at, max_hold_s * 1000), passive: true }));
}

/** Ends the hold of a role and of all roles that share its account. */
export function lift(ledger: Ledger, role_id: string, changes: Change[]): void {
  for (const one of sharing(ledger, role_id)) if (ledger.holds.has(one)) changes.push({ drop: "hold", id: one });
  const timer_id = holdTimerOf(ledger, role_id);
  if (ledger.timers.has(timer_id)) changes.push({ drop: "timer", id: timer_id });
}

/** Follows a turn that is given to a role: the role is no longer held, unless the turn only tries whether an outage is over. */
export function takesTurn(ledger: Ledger, role_id: string, at: Instant, changes: Change[]): void {
  const held = ledger.holds.get(role_id);
  if (held?.reason !== UNAVAILABLE) return held && lift(ledger, role_id, changes);
  for (const one of sharing(ledger, role_id)) {
    const its = ledger.holds.get(one);
    if (its?.reason === UNAVAILABLE) changes.push(put("hold", one, whileTrying(its, at)));
  }
}

/** Ends the outage of a role, one of whose turns has come through, whether or not it went well. */
export function endOutage(ledger: Ledger, turn_id: string, changes: Change[]): void {
  const { role_id = "" } = ledger.turns.get(turn_id) ?? {};
  if (ledger.holds.get(role_id)?.reason === UNAVAILABLE) lift(ledger, role_id, changes);
}

/**
 * Ends the holds that have no end of their own: resuming a session means that their cause is gone. In an outage a resume tries at once. A spent budget
 * stays held: it must be released by role.
 */
export function liftUnending(ledger: Ledger, now: Instant, changes: Change[]): void {
  for (const held of ledger.holds.values()) {
    const { role_id, account, until, limit, reason } = held;
    const isFirst = account === undefined || sharing(ledger, role_id)[0] === role_id;
    if (reason === UNAVAILABLE) changes.push(put("hold", role_id, { ...held, until: now }));
    else if (limit === undefined && until === undefined && isFirst) lift(ledger, role_id, changes);
  }
}

/** Whether a timer belongs to the engine. It only wakes the session, which then stops if nothing else can continue. */
export function isHoldTimer(timer_id: string): boolean {
  return timer_id.startsWith(HOLD_TIMER);
}

/**
 * Returns how a session stops because of a hold: at a limit if the hold ends by itself or is a role's own limit, otherwise waiting for a person. The
 * message names the role, the reason and the remedy.
 */
export function stopFor(
  ledger: Ledger,
  { role_id, reason, until, since, account, limit, said }: LedgerHold,
  now: Instant,
): Omit<Extract<Command, { do: "stop_session" }>, "do"> {
  if (limit !== undefined) {
    const unit = limit.limit === "role_turns" ? "turns" : "s of turns";
    const message = `the role "${role_id}" has used its budget of ${limit.max} ${unit}: bosun resume --release ${role_id} gives it as much again`;
    return { reason: "limit", message, limit };
  }
  // Rows may load in another order, so always name the same one of the roles that are held together.
  const who = heldRole({ role_id: account === undefined ? role_id : sharing(ledger, role_id)[0], account });
  const remedy = remedyFor({ reason, ...defined({ said }) });
  const { max_hold_s } = ledger.terms;
  if (until === undefined || max_hold_s === undefined) {
    return { reason: "waiting", message: `${who} is held (${reason}): ${remedy}, then resume the session` };
  }
  return {
    reason: "limit",
    message: `${who} is held until ${until} (${reason}), longer than max_hold_s (${max_hold_s}) allows: resume the session then, or release the role`,
    limit: {
      limit: "max_hold_s",
      used: Math.floor((milliseconds(now) - milliseconds(since ?? now)) / 1000),
      max: max_hold_s,
    },
  };
}

export function heldRole({
  role_id,
  account,
}: Pick<LedgerHold, "role_id"> & { readonly account?: string | undefined }): string {
  return `the role "${role_id}"${account === undefined ? "" : ` (account "${account}")`}`;
}

/** What a person can do about the failure that led to a hold. */
export function remedyFor({ reason, said }: Pick<LedgerHold, "reason" | "said">): string {
  return said?.replace(/\.$/, "") ?? REMEDIES[reason] ?? "see to its failure";
}

/** Whether any hold keeps the role from taking turns at that time. */
export function isHeld({ holds }: Ledger, role_id: string, at: Instant): boolean {
  return [role_id, BUDGET_HOLD + role_id, RATE_HOLD + role_id, QUOTA_HOLD + role_id].some((id) => {
    const hold = holds.get(id);
    return hold !== undefined && isHeldAt(hold, at);
  });
}

/** Whether a hold has not ended at that time. */
export function isHeldAt({ until }: LedgerHold, at: Instant): boolean {
  return endsAt(until) > milliseconds(at);
}

/** Whether a hold ends by itself before `max_hold_s` would stop the session. An outage may last. */
export function endsInTime({ terms }: Ledger, { until, since, reason }: LedgerHold): boolean {
  if (until === undefined) return false;
  if (reason === UNAVAILABLE) return true;
  if (since === undefined || terms.max_hold_s === undefined) return true;
  return milliseconds(until) <= milliseconds(since) + terms.max_hold_s * 1000;
}

/** Whether a role has been held for `max_hold_s`. */
export function isHeldTooLong({ terms }: Ledger, { since }: LedgerHold, at: Instant): boolean {
  if (since === undefined || terms.max_hold_s === undefined) return false;
  return milliseconds(at) >= milliseconds(since) + terms.max_hold_s * 1000;
}

/** The end of the hold that an agent reported. Undefined if it is not a valid time. */
function endTold(retry_at: unknown): Instant | undefined {
  const read = typeof retry_at === "string" ? parseInstant(retry_at) : undefined;
  return read?.ok ? read.value : undefined;
}

/**
 * The earliest end of a hold, given the number of earlier holds of the same turn. Without it, an end in the past (from a provider whose clock is
 * behind) would hold nothing. Undefined in sessions that were opened before the ledger kept the back-off.
 */
function shortestEnd({ terms }: Ledger, heldBefore: number, { received_at }: Fact): Instant | undefined {
  if (terms.retry_backoff_ms === undefined) return undefined;
  // Even if retries have no back-off, a held role must not be asked again at once.
  return later(received_at, backoff(Math.max(1, terms.retry_backoff_ms), heldBefore));
}

/** The later of the two ends. */
function notBefore(earliest: Instant | undefined, end: Instant | undefined): Instant | undefined {
  return earliest !== undefined && endsAt(end) < endsAt(earliest) ? earliest : end;
}

function endsAt(until: Instant | undefined): number {
  return until === undefined ? Number.POSITIVE_INFINITY : milliseconds(until);
}

/** The roles that are held together with this one, including itself, in the order of the role table. */
function sharing(ledger: Ledger, role_id: string): readonly [string, ...string[]] {
  const account = accountOf(ledger, role_id);
  const [first = role_id, ...others] = ledger.terms.accounts.flatMap(([one, its]) => (its === account ? [one] : []));
  return [first, ...others];
}

/** The id of the timer for `max_hold_s`: one for all roles that are held together. No command sets it. */
export function holdTimerOf(ledger: Ledger, role_id: string): string {
  return `${HOLD_TIMER}${sharing(ledger, role_id)[0]}`;
}
