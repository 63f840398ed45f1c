import type { TurnResult } from "../../kernel/agent.ts";
import { defined, isCount } from "../../lib/json.ts";
import type { Usage } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";

const LONGEST_ID = 500;
const LONGEST_NAME = 64;
const MAX_USD = 1_000_000_000;

/**
 * What a program reported besides its answer, as far as a record can hold it. A program may report anything: parts that do not fit are left
 * out, and so are unknown.
 */
export function toldIn(
  result: TurnResult,
): Pick<TurnResult, "usage" | "conversation" | "quota" | "changed_files" | "work"> {
  const usage = result.usage && usageIn(result.usage);
  const quota = result.quota?.filter(
    ({ name, used_percent }) => fits(name, LONGEST_NAME) && used_percent >= 0 && used_percent <= 100,
  );
  return {
    ...defined({
      usage,
      conversation: conversationIn(result.conversation),
      changed_files: result.changed_files,
      work: result.work,
    }),
    ...(quota === undefined || quota.length === 0 ? {} : { quota }),
  };
}

/** Whether a record can hold the id of a conversation. */
export function isConversationId(id: string): boolean {
  return fits(id, LONGEST_ID);
}

function conversationIn(told: TurnResult["conversation"]): TurnResult["conversation"] {
  if (told === undefined || !isConversationId(told.id)) return undefined;
  const { id, tokens, total } = told;
  return { id, ...defined({ tokens: isCount(tokens) ? tokens : undefined, total: total && usageIn(total) }) };
}

function usageIn({ cost_usd, ...told }: Usage): Usage {
  const counts = (["input_tokens", "output_tokens", "cached_tokens"] as const).flatMap((key) => {
    const count = told[key];
    return count !== undefined && isCount(count) ? [[key, count] as const] : [];
  });
  const cost = cost_usd !== undefined && cost_usd >= 0 && cost_usd <= MAX_USD ? { cost_usd } : {};
  return { ...Object.fromEntries(counts), ...cost };
}

function fits(text: string, most: number): boolean {
  return text !== "" && text.length <= most && text.isWellFormed();
}

const MILLION = 1_000_000;

/** Adds the cost by the role's price, if the program reported all tokens but no cost. */
export function priced(usage: Usage | undefined, { price }: Pick<Role, "price">): Usage | undefined {
  const { input_tokens, output_tokens, cached_tokens = 0, cost_usd } = usage ?? {};
  if (!price || cost_usd !== undefined || input_tokens === undefined || output_tokens === undefined) return usage;
  const { input_usd, output_usd, cached_usd = input_usd } = price;
  const cached = Math.min(cached_tokens, input_tokens);
  const sum = (input_tokens - cached) * input_usd + cached * cached_usd + output_tokens * output_usd;
  return { ...usage, cost_usd: Math.min(sum / MILLION, MAX_USD), computed: true };
}
