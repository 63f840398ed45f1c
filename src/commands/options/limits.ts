import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
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
