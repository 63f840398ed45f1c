import { parseDuration } from "../../lib/durations.ts";
import { err, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";

/** The duration that an option gives, in ms. Failure `usage`, also below the minimum. */
export function durationOf(option: string, text: string, minimum_ms = 1): Result<number, Failure> {
  const duration = parseDuration(text);
  if (!duration.ok) {
    const { what, expected } = duration.error;
    return err(failure("usage", `${option}: ${what}.`, { hint: `Expected: ${expected}.` }));
  }
  if (duration.value >= minimum_ms) return duration;
  return err(failure("usage", `${option}: ${JSON.stringify(text)} is too short.`, { hint: "Write 15m, for example." }));
}
