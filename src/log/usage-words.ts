import type { Spent, SpentByARole } from "../protocol/payload.ts";

/** The usage of each role: `codex 41k tokens, cost unknown · claude 120k tokens, $0.84`. Undefined if no program reported any. */
export function spendWords(by_role: readonly SpentByARole[] = []): string | undefined {
  if (!by_role.some(hasTold)) return undefined;
  return by_role.map((spent) => `${spent.role_id} ${spentWords(spent)}`).join(" · ");
}

/** The tokens and cost of a session so far; empty if no program reported any. */
export function totalWords(usage: Spent | undefined): string[] {
  return usage && hasTold(usage) ? [spentWords(usage)] : [];
}

/** The cost of a session so far, or its tokens if no program reported a cost; empty if none reported those. */
export function briefWords(usage: Spent | undefined): string[] {
  if (!usage || !hasTold(usage)) return [];
  const { cost_usd, told_usd = 0 } = usage;
  return [(cost_usd ?? told_usd) > 0 ? costWords(cost_usd, told_usd) : tokenWords(usage)];
}

/** `41k tokens`, at least so many if some turn did not report them, or that they are unknown. */
function tokenWords({
  input_tokens,
  output_tokens,
  untold_turns = 0,
}: Pick<Spent, "input_tokens" | "output_tokens" | "untold_turns">): string {
  if (input_tokens === null) return "tokens unknown";
  return `${countWords(input_tokens + (output_tokens ?? 0), untold_turns)} tokens`;
}

/** `41k`, `at least 41k`, or `unknown`. */
export function countWords(tokens: number, untold_turns: number): string {
  if (untold_turns === 0) return short(tokens);
  return tokens > 0 ? `at least ${short(tokens)}` : "unknown";
}

/** The tokens and the cost, each with `at least` if some turn did not report it. */
export function spentWords(spent: Spent): string {
  const { cost_usd, told_usd, computed } = spent;
  return `${tokenWords(spent)}, ${costWords(cost_usd, told_usd)}${computed === true ? " (by its price)" : ""}`;
}

/** `$0.84`, or that the cost is unknown. */
export function costWords(cost_usd: number | null, told_usd = 0): string {
  if (cost_usd !== null) return dollars(cost_usd);
  return told_usd > 0 ? `at least ${dollars(told_usd)}` : "cost unknown";
}

/** `$4.33`, `$4.33+` if some turns did not report their cost, `-` if none did. */
export function costFigure({ cost_usd, told_usd = 0 }: Pick<Spent, "cost_usd" | "told_usd">): string {
  if (cost_usd !== null) return `$${cost_usd.toFixed(2)}`;
  return told_usd > 0 ? `$${told_usd.toFixed(2)}+` : "-";
}

/** `$0.84`. */
function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? "under $0.01" : `$${usd.toFixed(2)}`;
}

/** Whether any turn reported tokens or a cost. */
function hasTold({ input_tokens, output_tokens, cost_usd, told_usd = 0 }: Spent): boolean {
  return (input_tokens ?? 0) + (output_tokens ?? 0) > 0 || (cost_usd ?? 0) > 0 || told_usd > 0;
}

/** `950`, `41k`, `1.2M`. */
function short(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  if (tokens < 999_500) return `${Math.round(tokens / 1_000)}k`;
  return `${(tokens / 1_000_000).toFixed(1)}M`;
}
