import { countOf, isCount, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import type { Usage } from "../../protocol/payload.ts";
import { sumOf } from "../usage.ts";

/**
 * The usage of one prompt, from its response. `_meta.quota` counts the requests of all models, of which claude-agent-acp leaves some out of `usage`;
 * gemini reports nothing else.
 */
export function countsOf({ usage, _meta }: JsonObject): Usage | undefined {
  const { model_usage, token_count } = objectOf(objectOf(_meta).quota);
  const byModel = listOf(model_usage).map((model) => countsIn(objectOf(objectOf(model).token_count)));
  const known = byModel.filter((counts) => counts !== undefined);
  if (known.length > 0 && known.length === byModel.length) return sumOf(known);
  return countsIn(objectOf(usage)) ?? countsIn(objectOf(token_count));
}

/** Some agents leave cached tokens out of the input; their total is then the sum of all counts. */
function countsIn(told: JsonObject): Usage | undefined {
  const input = told.inputTokens ?? told.input_tokens;
  const output = told.outputTokens ?? told.output_tokens;
  const read = told.cachedReadTokens ?? told.cachedInputTokens;
  if (!isCount(input) || !isCount(output)) return undefined;
  const cached = countOf(read) + countOf(told.cachedWriteTokens);
  const isLeftOut = isCount(told.totalTokens) && told.totalTokens >= input + output + cached;
  return {
    input_tokens: input + (isLeftOut ? cached : 0),
    output_tokens: output,
    ...(isCount(read) ? { cached_tokens: read } : {}),
  };
}
