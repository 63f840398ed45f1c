import { type JsonObject, objectOf } from "../../../lib/json.ts";
import type { Usage } from "../../../protocol/payload.ts";
import { since, sumOf, USAGE_KEYS } from "../../usage.ts";

/** Input tokens of one request. Claude Code's own `input_tokens` excludes cache reads and writes. */
interface Read {
  readonly input_tokens: number;
  readonly cached_tokens: number;
}

/**
 * The usage of one process. Until the first result, the requests that a message came from are counted, without their output, which is not yet known.
 */
export class ClaudeUsage {
  readonly #requests = new Map<string, Read>();
  readonly #results: Usage[] = [];
  #total: Usage | undefined;
  #countsSince = true;
  /** The last request of the conversation itself, not of a subagent. */
  #last: (Read & { readonly output_tokens: number }) | undefined;

  /** Takes a message. A message with several parts arrives several times. */
  heard(message: JsonObject, ofConversation: boolean): void {
    const usage = objectOf(message.usage);
    if (typeof message.id !== "string" || message.usage === undefined) return;
    const cached_tokens = count(usage.cache_read_input_tokens);
    const input_tokens = count(usage.input_tokens) + count(usage.cache_creation_input_tokens) + cached_tokens;
    this.#requests.set(message.id, { input_tokens, cached_tokens });
    if (ofConversation) this.#last = { input_tokens, cached_tokens, output_tokens: count(usage.output_tokens) };
  }

  /** Takes the result of a turn. Newer versions count since the last result; `modelUsage` counts the whole session, or the process in older ones. */
  ended({ model_usage_since_last_result, modelUsage }: JsonObject): void {
    this.#total = ofModels(objectOf(modelUsage));
    const added = model_usage_since_last_result;
    if (added === undefined) this.#countsSince = false;
    else this.#results.push(ofModels(objectOf(added)));
  }

  /** `before` is the running total of the conversation that the process continues. */
  used(before: Usage | undefined): Usage | undefined {
    if (this.#total === undefined) return sumOf([...this.#requests.values()]);
    if (this.#countsSince) return sumOf(this.#results);
    const total = this.#total;
    // Older versions begin to count anew.
    const continues = before !== undefined && USAGE_KEYS.every((key) => (total[key] ?? 0) >= (before[key] ?? 0));
    return continues ? since(total, before) : total;
  }

  /** The running total of the conversation, which the next process may continue to count. */
  total(): Usage | undefined {
    return this.#total;
  }

  /** Number of tokens in the conversation after its last request. */
  context(): { readonly tokens?: number } {
    return this.#last === undefined ? {} : { tokens: this.#last.input_tokens + this.#last.output_tokens };
  }
}

function ofModels(usageByModel: JsonObject): Usage {
  const models = Object.values(usageByModel).map(objectOf);
  const sum = (...keys: string[]) =>
    models.flatMap((model) => keys.map((key) => count(model[key]))).reduce((one, other) => one + other, 0);
  const cached_tokens = sum("cacheReadInputTokens");
  // For a model that is not in its price list, Claude Code uses the price of another.
  const isPriced = models.every(({ costBasis }) => costBasis !== "unknown");
  return {
    input_tokens: sum("inputTokens", "cacheCreationInputTokens") + cached_tokens,
    output_tokens: sum("outputTokens"),
    cached_tokens,
    ...(isPriced ? { cost_usd: sum("costUSD") } : {}),
  };
}

function count(value: unknown): number {
  return typeof value === "number" && value >= 0 ? value : 0;
}
