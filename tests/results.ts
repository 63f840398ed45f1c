import type { Failure, Fallible } from "../src/protocol/failure.ts";

/** The value of a result; throws for a failure. */
export function value<T>(result: Fallible<T>): T {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

/** The failure of a result; throws for a value. */
export function failureOf(result: Fallible<unknown>): Failure {
  if (result.ok) throw new Error("It did not fail.");
  return result.error;
}
