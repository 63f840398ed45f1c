import { type JsonObject, objectOf } from "../../../lib/json.ts";
import type { Usage } from "../../../protocol/payload.ts";

/** Input tokens of one request. Claude Code's own `input_tokens` excludes cache reads and writes. */
interface Read {
  readonly input_tokens: number;
  readonly cached_tokens: number;
}

/**
 * The usage of one process. Each result counts the usage of all models since the previous one. Until the first result, the requests that a message
 * came from are counted, without their output, which is not yet known.
 */
export class ClaudeUsage {
  readonly #requests = new Map<string, Read>();
  readonly #results: Usage[] = [];
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

  /** Takes the result of a turn. In a resumed conversation, `modelUsage` and `total_cost_usd` count all its turns. */
  ended(result: JsonObject): void {
    const models = Object.values(objectOf(result.model_usage_since_last_result ?? result.modelUsage)).map(objectOf);
    const sum = (...keys: string[]) => models.flatMap((model) => keys.map((key) => count(model[key]))).reduce(add, 0);
    const cached_tokens = sum("cacheReadInputTokens");
    // For a model that is not in its price list, Claude Code uses the price of another.
    const isPriced = models.every(({ costBasis }) => costBasis !== "unknown");
    this.#results.push({
      input_tokens: sum("inputTokens", "cacheCreationInputTokens") + cached_tokens,
      output_tokens: sum("outputTokens"),
      cached_tokens,
      ...(isPriced ? { cost_usd: sum("costUSD") } : {}),
    });
  }

  total(): Usage | undefined {
    const told: readonly Usage[] = this.#results.length > 0 ? this.#results : [...this.#requests.values()];
    if (told.length === 0) return undefined;
    const keys = ["input_tokens", "output_tokens", "cached_tokens", "cost_usd"] as const;
    return Object.fromEntries(
      keys.flatMap((key) => {
        const values = told.map((usage) => usage[key]);
        return values.every((value) => value !== undefined) ? [[key, values.reduce(add, 0)]] : [];
      }),
    );
  }

  /** Number of tokens in the conversation after its last request. */
  context(): { readonly tokens?: number } {
    return this.#last === undefined ? {} : { tokens: this.#last.input_tokens + this.#last.output_tokens };
  }
}

function add(one: number, other: number): number {
  return one + other;
}

function count(value: unknown): number {
  return typeof value === "number" && value >= 0 ? value : 0;
}
