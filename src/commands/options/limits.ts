import type { GivenText } from "../../config/setting-text.ts";
import { resolveSettings } from "../../config/settings.ts";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";

/** The limits of a session, as typed. */
export interface LimitOptions {
  readonly budgetTurns?: string;
  readonly budgetTokens?: string;
  readonly budgetUsd?: string;
  readonly deadline?: string;
}

/** The flag, the setting and the text of each limit. */
export function limitFlags(options: LimitOptions): [name: string, key: GivenText["key"], text: string | undefined][] {
  return [
    ["--budget-turns", "budget.turns", options.budgetTurns],
    ["--budget-tokens", "budget.tokens", options.budgetTokens],
    ["--budget-usd", "budget.usd", options.budgetUsd],
    ["--deadline", "budget.wall_s", options.deadline],
  ];
}

/** The limits as recorded; undefined if none is given. A deadline counts from the resume. Failure `usage`. */
export async function readLimits(options: LimitOptions): Promise<Result<JsonObject | undefined, Failure>> {
  const flags = limitFlags(options).flatMap(([name, key, text]) => (text === undefined ? [] : [{ name, key, text }]));
  if (flags.length === 0) return ok(undefined);
  const settings = await resolveSettings({ flags, environment: {}, directory: "/", roles: [], at_terminal: false });
  if (!settings.ok) return settings;
  const { budgetUsd } = options;
  if (Number(budgetUsd) === 0) {
    const hint = "Write a sum of money, such as 2.50.";
    return err(failure("usage", `--budget-usd ${JSON.stringify(budgetUsd)} lets no turn begin.`, { hint }));
  }
  const given = Object.entries(settings.value.values.budget ?? {});
  return ok(Object.fromEntries(given.filter(([key]) => flags.some((flag) => flag.key === `budget.${key}`))));
}
