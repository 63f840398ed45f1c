import type { QuotaWindow } from "../protocol/record.ts";
import { type Instant, milliseconds } from "../protocol/timestamp.ts";
import { accountOf, type Ledger, type LedgerQuota, type LedgerTerms, put, roleOf } from "./ledger.ts";
import type { Change, Fact, FactOf } from "./mode.ts";

/** The prefix for the ids of holds that keep an account's reserve. */
export const QUOTA_HOLD = "quota:";

/** The reserve of each account that has one, in percent of each of its windows. */
export function reservesOf({ payload }: FactOf<"session_opened">): Pick<LedgerTerms, "reserves"> {
  const reserves = Object.entries(payload.config.accounts ?? {}).flatMap(([account, { reserve }]) =>
    reserve === undefined ? [] : [[account, reserve] as const],
  );
  return reserves.length > 0 ? { reserves } : {};
}

/** The key of the quota windows of a role: its account, or the role itself. */
function keyOf(ledger: Ledger, role_id: string): string {
  return accountOf(ledger, role_id) ?? role_id;
}

/** Stores the quota windows that a fact reports, and holds the roles of an account that has no more left than its reserve. */
export function watchQuota(ledger: Ledger, fact: Fact, closed: boolean, changes: Change[]): void {
  if (fact.quota) {
    const role_id = roleOf(ledger, fact);
    if (role_id === undefined) return;
    const account = keyOf(ledger, role_id);
    const before = ledger.quotas.get(account);
    const told = new Set(fact.quota.map(({ name }) => name));
    const others = before?.windows.filter(({ name }) => !told.has(name)) ?? [];
    const quota: LedgerQuota = { ...before, windows: [...others, ...fact.quota], at: fact.received_at };
    changes.push(put("quota", account, quota));
    if (!closed) keepReserve(ledger, account, quota, fact, changes);
  } else if (fact.payload_type === "session_reopened") {
    for (const [account, quota] of ledger.quotas) keepReserve(ledger, account, quota, fact, changes);
  } else if (fact.payload_type === "user_command" && fact.payload.command === "release" && fact.payload.role_id) {
    waive(ledger, keyOf(ledger, fact.payload.role_id), changes);
  } else if (fact.payload_type === "turn_request") {
    const id = QUOTA_HOLD + fact.payload.role_id;
    if (ledger.holds.has(id)) changes.push({ drop: "hold", id });
  }
}

/** The current windows that have no more left than the reserve. */
function spentWindows(windows: readonly QuotaWindow[], reserve: number, now: Instant): readonly QuotaWindow[] {
  return windows.filter(
    ({ used_percent, resets_at }) => 100 - used_percent <= reserve && milliseconds(resets_at) > milliseconds(now),
  );
}

function keepReserve(
  ledger: Ledger,
  account: string,
  { windows, waived }: LedgerQuota,
  { received_at: since }: Fact,
  changes: Change[],
): void {
  const reserve = ledger.terms.reserves?.find(([one]) => one === account)?.[1];
  if (reserve === undefined) return;
  const isWaived = waived !== undefined && milliseconds(waived) > milliseconds(since);
  const last = isWaived
    ? undefined
    : spentWindows(windows, reserve, since)
        .toSorted((a, b) => milliseconds(a.resets_at) - milliseconds(b.resets_at))
        .at(-1);
  for (const role_id of rolesOf(ledger, account)) {
    const id = QUOTA_HOLD + role_id;
    if (last === undefined) {
      if (ledger.holds.has(id)) changes.push({ drop: "hold", id });
      continue;
    }
    const { resets_at: until, used_percent: used, name: window } = last;
    const limit = { limit: "quota", used, max: 100 - reserve };
    const begun = ledger.holds.get(id)?.since ?? since;
    changes.push(put("hold", id, { role_id, reason: "quota_reserved", until, since: begun, account, window, limit }));
  }
}

/** Lets the account use its reserve until the window that led to the hold is over. */
function waive(ledger: Ledger, account: string, changes: Change[]): void {
  for (const role_id of rolesOf(ledger, account)) {
    const id = QUOTA_HOLD + role_id;
    const hold = ledger.holds.get(id);
    const quota = ledger.quotas.get(account);
    if (hold?.until === undefined || !quota) continue;
    changes.push({ drop: "hold", id }, put("quota", account, { ...quota, waived: hold.until }));
  }
}

function rolesOf({ terms }: Ledger, account: string): readonly string[] {
  const roles = terms.accounts.flatMap(([role_id, its]) => (its === account ? [role_id] : []));
  return roles.length > 0 ? roles : [account];
}
