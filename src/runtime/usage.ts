import type { LedgerFigures } from "../kernel/ledger.ts";
import type { JsonObject } from "../lib/json.ts";

/** The usage totals of reports. The cost is null (unknown) as soon as one turn did not report it. */
export function usageOf(figures: LedgerFigures): JsonObject {
  return {
    turns: figures.turns,
    input_tokens: figures.input_tokens,
    output_tokens: figures.output_tokens,
    ...(figures.cached_tokens > 0 ? { cached_tokens: figures.cached_tokens } : {}),
    cost_usd: figures.unpriced_turns > 0 ? null : figures.cost_usd,
  };
}
