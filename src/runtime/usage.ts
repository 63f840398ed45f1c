import type { Ledger, LedgerFigures, LedgerSpend } from "../kernel/ledger.ts";
import { spendsByRole } from "../kernel/spends.ts";
import type { Spent, TotalUsage } from "../protocol/payload.ts";

/** The usage of a session, by role too. */
export function usageOf(ledger: Pick<Ledger, "figures" | "spends">): TotalUsage {
  const by_role = spendsByRole(ledger).map(([role_id, spend]) => ({ role_id, ...spentOf(spend) }));
  return { ...totalOf(ledger.figures), ...(by_role.length > 0 ? { by_role } : {}) };
}

/** The same, without the roles' shares. */
export function totalOf(figures: LedgerFigures): TotalUsage {
  return spentOf({ ...figures, untold_turns: figures.untold_turns ?? 0 });
}

/** The usage of a session, a role or a subject. Tokens are null if no turn reported any, a cost is null unless every turn reported one. */
export function spentOf(spend: LedgerSpend): Spent {
  const { turns, input_tokens, output_tokens, cached_tokens, cost_usd, untold_turns, unpriced_turns, computed } = spend;
  const knowsTokens = untold_turns === 0 || input_tokens + output_tokens > 0;
  return {
    turns,
    input_tokens: knowsTokens ? input_tokens : null,
    output_tokens: knowsTokens ? output_tokens : null,
    ...(cached_tokens > 0 ? { cached_tokens } : {}),
    cost_usd: unpriced_turns > 0 ? null : cost_usd,
    ...(unpriced_turns > 0 && cost_usd > 0 ? { told_usd: cost_usd } : {}),
    ...(untold_turns > 0 ? { untold_turns } : {}),
    ...(computed === true ? { computed } : {}),
  };
}
