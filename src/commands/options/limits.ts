import { parseDuration } from "../../lib/durations.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { GivenText } from "../../config/setting-text.ts";
import { resolveSettings } from "../../config/settings.ts";

export interface LimitOptions {
  readonly budgetTurns?: string;
  readonly budgetTokens?: string;
  readonly budgetUsd?: string;
  readonly deadline?: string;
}

export function limitFlags(options: LimitOptions): [name: string, key: GivenText["key"], text: string | undefined][] {
  return [
    ["--budget-turns", "budget.turns", options.budgetTurns],
    ["--budget-tokens", "budget.tokens", options.budgetTokens],
    ["--budget-usd", "budget.usd", options.budgetUsd],
    ["--deadline", "budget.wall_s", options.deadline],
  ];
}

/** The limits as recorded; undefined if none is given. A deadline counts from the resume. Failure `usage`. */
export async function readLimits(options: LimitOptions): Promise<Fallible<JsonObject | undefined>> {
  const flags = limitFlags(options).flatMap(([name, key, text]) => (text === undefined ? [] : [{ name, key, text }]));
  if (flags.length === 0) return ok(undefined);
  const settings = await resolveSettings({ flags, environment: {}, directory: "/", roles: [], at_terminal: false });
  if (!settings.ok) return settings;
  const { budgetUsd } = options;
  if (Number(budgetUsd) === 0) {
    const hint = "Write a sum of money, such as 2.50.";
    return fails("usage", `--budget-usd ${JSON.stringify(budgetUsd)} lets no turn begin.`, { hint });
  }
  const given = Object.entries(settings.value.values.budget ?? {});
  return ok(Object.fromEntries(given.filter(([key]) => flags.some((flag) => flag.key === `budget.${key}`))));
}

/** The duration that an option gives, in ms. Failure `usage`, also below the minimum. */
export function durationOf(option: string, text: string, minimum_ms = 1): Fallible<number> {
  const duration = parseDuration(text);
  if (!duration.ok) {
    const { what, expected } = duration.error;
    return fails("usage", `${option}: ${what}.`, { hint: `Expected: ${expected}.` });
  }
  if (duration.value >= minimum_ms) return duration;
  return fails("usage", `${option}: ${JSON.stringify(text)} is too short.`, { hint: "Write 15m, for example." });
}
