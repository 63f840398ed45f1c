import type { Usage } from "../protocol/payload.ts";

export const USAGE_KEYS = ["input_tokens", "output_tokens", "cached_tokens", "cost_usd"] as const;

/** The sum of usages; undefined if there are none. A number that one of them did not report is unknown, not zero. */
export function sumOf(usages: readonly Usage[]): Usage | undefined {
  return usages.length === 0 ? undefined : usages.reduce((one, other) => combined(one, other, (a, b) => a + b));
}

/** The usage since a running total. What one of them does not know is unknown. */
export function since(total: Usage, before: Usage): Usage {
  return combined(total, before, (a, b) => Math.max(0, a - b));
}

function combined(one: Usage, other: Usage, figure: (a: number, b: number) => number): Usage {
  const figures = USAGE_KEYS.flatMap((key) => {
    const [a, b] = [one[key], other[key]];
    return a === undefined || b === undefined ? [] : [[key, figure(a, b)] as const];
  });
  return Object.fromEntries(figures);
}
