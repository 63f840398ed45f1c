import type { Usage } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";

const MILLION = 1_000_000;
const MAX_COST_USD = 1_000_000_000;

/** Adds the cost by the role's price, if the program reported all tokens but no cost. */
export function priced(usage: Usage | undefined, { price }: Pick<Role, "price">): Usage | undefined {
  const { input_tokens, output_tokens, cached_tokens = 0, cost_usd } = usage ?? {};
  if (!price || cost_usd !== undefined || input_tokens === undefined || output_tokens === undefined) return usage;
  const { input_usd, output_usd, cached_usd = input_usd } = price;
  const cached = Math.min(cached_tokens, input_tokens);
  const sum = (input_tokens - cached) * input_usd + cached * cached_usd + output_tokens * output_usd;
  return { ...usage, cost_usd: Math.min(sum / MILLION, MAX_COST_USD), computed: true };
}
