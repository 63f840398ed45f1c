import { parseDuration } from "../../lib/durations.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import { fails, type Failure } from "../../protocol/failure.ts";

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
      return fails("usage", `--budget-${key} ${JSON.stringify(text)} is not a ${kind}.`, { hint });
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

/** The duration that an option gives, in ms. Failure `usage`, also below the minimum. */
export function durationOf(option: string, text: string, minimum_ms = 1): Result<number, Failure> {
  const duration = parseDuration(text);
  if (!duration.ok) {
    const { what, expected } = duration.error;
    return fails("usage", `${option}: ${what}.`, { hint: `Expected: ${expected}.` });
  }
  if (duration.value >= minimum_ms) return duration;
  return fails("usage", `${option}: ${JSON.stringify(text)} is too short.`, { hint: "Write 15m, for example." });
}
