import type { Result } from "../src/lib/result.ts";
import type { Failure } from "../src/protocol/failure.ts";

/** What a test takes for granted that it came to. */
export function value<T>(result: Result<T, Failure>): T {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

/** The failure of a result that the test takes for granted. */
export function failureOf(result: Result<unknown, Failure>): Failure {
  if (result.ok) throw new Error("It did not fail.");
  return result.error;
}
