import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { Usage } from "../../protocol/payload.ts";

type Counts = Omit<Usage, "cost_usd">;

/**
 * The usage of one prompt, from its response. Some agents leave cached tokens out of `inputTokens`; their total is then the sum of all counts. Gemini
 * reports its counts only in `_meta.quota`, without cached tokens.
 */
export function countsOf({ usage, _meta }: JsonObject): Counts | undefined {
  const { totalTokens, inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens } = objectOf(usage);
  if (!isCount(inputTokens) || !isCount(outputTokens)) return quotaCounts(objectOf(objectOf(_meta).quota));
  const cached = orZero(cachedReadTokens) + orZero(cachedWriteTokens);
  const isLeftOut = isCount(totalTokens) && totalTokens >= inputTokens + outputTokens + cached;
  return {
    input_tokens: inputTokens + (isLeftOut ? cached : 0),
    output_tokens: outputTokens,
    ...(isCount(cachedReadTokens) ? { cached_tokens: cachedReadTokens } : {}),
  };
}

/** Adds the counts of two prompts. Cached tokens that one of them did not report are unknown. */
export function addedCounts(one: Counts, other: Counts): Counts {
  const cached_tokens =
    one.cached_tokens === undefined || other.cached_tokens === undefined
      ? undefined
      : one.cached_tokens + other.cached_tokens;
  return {
    input_tokens: orZero(one.input_tokens) + orZero(other.input_tokens),
    output_tokens: orZero(one.output_tokens) + orZero(other.output_tokens),
    ...(cached_tokens === undefined ? {} : { cached_tokens }),
  };
}

function quotaCounts({ token_count }: JsonObject): Counts | undefined {
  const { input_tokens, output_tokens } = objectOf(token_count);
  return isCount(input_tokens) && isCount(output_tokens) ? { input_tokens, output_tokens } : undefined;
}

function orZero(value: Json | undefined): number {
  return isCount(value) ? value : 0;
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
