import type { JsonObject } from "../../src/lib/json.ts";
import type { Conversation, Step, TokenCount } from "./conversation.ts";

/** About what a tokeniser counts in English and JSON. */
const BYTES_A_TOKEN = 4;

function tokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value ?? "").length / BYTES_A_TOKEN);
}

/** Counts as a provider does: all of a request is input, and what an earlier request of the conversation held is cached. */
export class TokenCounter {
  readonly #seen = new Map<string, number>();

  count(conversation: Conversation, body: JsonObject, step: Step, side: boolean): TokenCount {
    const input = tokens(body);
    if (side) return { input, cached: 0, output: tokens(step) };
    const key = `${conversation.protocol} ${conversation.id}`;
    const cached = Math.min(input, this.#seen.get(key) ?? 0);
    if (!("status" in step) && !("hang" in step)) this.#seen.set(key, input);
    return { input, cached, output: tokens(step), ...step.usage };
  }
}

export function addUp(counts: readonly TokenCount[]): TokenCount {
  return counts.reduce(
    (sum, { input, cached, output }) => ({
      input: sum.input + input,
      cached: sum.cached + cached,
      output: sum.output + output,
    }),
    { input: 0, cached: 0, output: 0 },
  );
}
