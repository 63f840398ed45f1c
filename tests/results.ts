import type { Result } from "../src/lib/result.ts";
import type { Failure } from "../src/protocol/failure.ts";

/** The value of a result; throws for a failure. */
export function value<T>(result: Result<T, Failure>): T {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

/** The failure of a result; throws for a value. */
export function failureOf(result: Result<unknown, Failure>): Failure {
  if (result.ok) throw new Error("It did not fail.");
  return result.error;
}
