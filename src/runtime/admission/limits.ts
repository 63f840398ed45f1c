import { reservedOf } from "../../kernel/children.ts";
import type { Ledger, LedgerFigures } from "../../kernel/ledger.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Budget, ResolvedConfiguration } from "../../protocol/payload.ts";

/** A session limit that forbids another turn. */
export interface LimitReached {
  readonly message: string;
  readonly details: JsonObject;
}

/** The configuration's budget, with a person's later changes. Tokens are input and output together. */
export function limitsOf(figures: LedgerFigures, config: ResolvedConfiguration): Budget {
  return { ...config.budget, ...(figures.limits as object | undefined) };
}

/**
 * The limit that forbids another turn, if any. `awake_ms` is how long this scheduler has been running, not counting sleep of the machine or
 * changes of the wall clock. Tokens and cost that an agent did not report are unknown, not zero: a session that limits them stops until a
 * person accepts them.
 */
export function limitReached(
  ledger: Ledger,
  config: ResolvedConfiguration,
  awake_ms: number,
): LimitReached | undefined {
  const { turns, tokens, usd, wall_s } = limitsOf(ledger.figures, config);
  const used = usedOf(ledger);
  if (turns !== undefined && used.turns >= turns) return reached("turns", used.turns, turns, "turns");
  const late = wall_s === undefined ? undefined : outOfTime(awake_ms, wall_s);
  if (late) return late;
  const { untold = {} } = ledger.figures;
  if (tokens !== undefined) {
    if (used.tokens >= tokens) return reached("tokens", used.tokens, tokens, "tokens");
    if (untold.tokens) return unknown("tokens", used.tokens, tokens, untold.tokens);
  }
  if (usd !== undefined) {
    if (used.usd >= usd) return reached("usd", used.usd, usd, "USD");
    if (untold.usd) return unknown("usd", used.usd, usd, untold.usd);
  }
  return undefined;
}

/** The time limit, if `wall_s` has passed. */
export function outOfTime(awake_ms: number, wall_s: number): LimitReached | undefined {
  return awake_ms < wall_s * 1000 ? undefined : reached("wall_s", Math.floor(awake_ms / 1000), wall_s, "s");
}

/** The turns, tokens and money left, where limited and known. */
export function leftOf(ledger: Ledger, config: ResolvedConfiguration): Omit<Budget, "wall_s"> {
  const { turns, tokens, usd } = limitsOf(ledger.figures, config);
  const { untold = {} } = ledger.figures;
  const used = usedOf(ledger);
  return {
    ...(turns === undefined ? {} : { turns: Math.max(0, turns - used.turns) }),
    ...(tokens === undefined || untold.tokens ? {} : { tokens: Math.max(0, tokens - used.tokens) }),
    ...(usd === undefined || untold.usd ? {} : { usd: Math.max(0, usd - used.usd) }),
  };
}

/** A child session's budget: what was asked for, at most what its parent has left. */
export function grantOf(ledger: Ledger, config: ResolvedConfiguration, awake_ms: number, asked: Budget): Budget {
  const { wall_s } = limitsOf(ledger.figures, config);
  const left: Budget = {
    ...leftOf(ledger, config),
    ...(wall_s === undefined ? {} : { wall_s: Math.max(1, Math.floor(wall_s - awake_ms / 1000)) }),
  };
  const grant: { -readonly [K in keyof Budget]: Budget[K] } = {};
  for (const kind of ["turns", "tokens", "usd", "wall_s"] as const) {
    const most = Math.min(asked[kind] ?? Number.POSITIVE_INFINITY, left[kind] ?? Number.POSITIVE_INFINITY);
    if (Number.isFinite(most)) grant[kind] = most;
  }
  return grant;
}

/** What the session has used, plus what it reserves for its children. */
function usedOf(ledger: Ledger): { readonly turns: number; readonly tokens: number; readonly usd: number } {
  const { turns, lost_turns = 0, input_tokens, output_tokens, cost_usd } = ledger.figures;
  const reserved = reservedOf(ledger);
  return {
    turns: turns - lost_turns + reserved.turns,
    tokens: input_tokens + output_tokens + reserved.tokens,
    usd: cost_usd + reserved.usd,
  };
}

function reached(limit: keyof Budget, used: number, max: number, unit: string): LimitReached {
  const raise =
    limit === "tokens" || limit === "usd" ? ` (${used} used): bosun resume --budget-${limit} raises it` : "";
  const what = max === 1 ? unit.replace(/s$/, "") : unit;
  return { message: `the limit of ${max} ${what} is reached${raise}`, details: { limit, used, max } };
}

function unknown(limit: "tokens" | "usd", used: number, max: number, roles: readonly string[]): LimitReached {
  const who = roles.map((role_id) => `"${role_id}"`).join(", ");
  const [what, unit, field] =
    limit === "usd"
      ? ["cost", "USD", "usage.cost_usd"]
      : ["tokens", "tokens", "usage.input_tokens and usage.output_tokens"];
  return {
    message: `the ${what} of turns of ${who} is unknown, so the limit of ${max} ${unit} cannot be kept: make these agents report ${field} (0 for none), or accept the unknown ${what} so far with bosun resume --budget-${limit}`,
    details: { limit, used, max },
  };
}
