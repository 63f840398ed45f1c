import { tellsNoCost } from "../../config/role-defaults.ts";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import { durationOf } from "./duration.ts";

/** The limits of a session, as typed. */
export interface LimitOptions {
  readonly budgetTurns?: string;
  readonly budgetTokens?: string;
  readonly budgetUsd?: string;
  readonly deadline?: string;
}

/** The limits as recorded; undefined if none is set. A deadline counts from the resume. */
export function readLimits({
  budgetTurns,
  budgetTokens,
  budgetUsd,
  deadline,
}: LimitOptions): Result<JsonObject | undefined, Failure> {
  const limits: { turns?: number; tokens?: number; usd?: number; wall_s?: number } = {};
  for (const [key, text, form, kind] of [
    ["turns", budgetTurns, /^[1-9]\d{0,8}$/, "number of turns"],
    ["tokens", budgetTokens, /^[1-9]\d{0,14}$/, "number of tokens"],
    ["usd", budgetUsd, /^(?=.*[1-9])\d{1,9}(\.\d{1,6})?$/, "sum of money"],
  ] as const) {
    if (text === undefined) continue;
    if (!form.test(text)) {
      const hint = key === "usd" ? "Write a number, such as 2.50." : "Write a whole number, such as 400.";
      return err(failure("usage", `--budget-${key} ${JSON.stringify(text)} is not a ${kind}.`, { hint }));
    }
    limits[key] = Number(text);
  }
  if (deadline !== undefined) {
    const duration = durationOf("--deadline", deadline);
    if (!duration.ok) return duration;
    limits.wall_s = Math.ceil(duration.value / 1000);
  }
  return ok(Object.keys(limits).length === 0 ? undefined : { ...limits });
}

/** Refuses a budget of money that cannot be kept, because a role's program reports no cost and the role has no price. */
export function unpriced(usd: number | undefined, roles: readonly Role[]): Failure | undefined {
  const role = usd === undefined ? undefined : roles.find((one) => tellsNoCost(one) && one.price === undefined);
  if (!role) return undefined;
  return failure(
    "usage",
    `A budget of $${usd} cannot be kept: the program of the role "${role.role_id}" reports no cost.`,
    {
      hint: 'Give the role a price, "price": {"input_usd": 1.25, "cached_usd": 0.125, "output_usd": 10} for a million tokens, or use --budget-tokens.',
    },
  );
}

/** Refuses a limit of 0, under which no turn can begin. */
export function nothingToUse({ budget }: ResolvedConfiguration): Failure | undefined {
  for (const kind of ["turns", "tokens", "usd"] as const) {
    if (budget[kind] !== 0) continue;
    return failure("usage", `With a budget of 0 ${kind} no turn can begin.`, {
      hint: `Raise --budget-${kind}, or budget.${kind} in the settings. To see only the plan, use --plan-only.`,
    });
  }
  return undefined;
}
