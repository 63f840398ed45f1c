import { type Failure, failure } from "../protocol/failure.ts";
import type { Fact, Step, TurnId } from "./mode.ts";

/** Thrown while a step is written if the state does not accept an event; the message says why. `stepOf` turns it into a refusal. */
export class EventRefused extends Error {}

/** The step of a fact that changes nothing. */
export const NOTHING: Step = { changes: [], envelopes: [], effects: [], commands: [] };

/** Returns the step of `write`, or a refusal without changes if the state does not accept it. No fact is dropped silently. */
export function stepOf(write: () => Step): Step {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof EventRefused)) throw error;
    return { ...NOTHING, refused: failure("not_permitted", error.message) };
  }
}

/** The failure of an answer that is wrong at this place. */
export function wrongAt(pointer: string, message: string, hint: string): Failure {
  return failure("validation_failed", message, { hint, details: { pointer } });
}

/** Makes a `not_permitted` failure with a hint. */
export function notPermitted(message: string, hint: string): Failure {
  return failure("not_permitted", message, { hint });
}

/** The id of the `n`th turn that a fact's step offers, counting from 1. */
export function turnId({ sequence }: Fact, n: number): TurnId {
  return n === 1 ? `t${sequence}` : `t${sequence}.${n}`;
}

/** The longest back-off of turns; it doubles up to this. */
const MAX_BACKOFF_MS = 60_000;

/** The back-off after a failure, in ms. `before` is the number of failures before it. */
export function backoff(first_ms: number, before: number, most_ms = MAX_BACKOFF_MS): number {
  return Math.min(first_ms * 2 ** before, most_ms);
}

/** New values for some fields; `undefined` removes a field. */
export type Patch<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** A copy with the patch applied. */
export function patched<T extends object>(value: T, patch: Patch<T>): T {
  const next = { ...value } as Record<string, unknown>;
  const given = patch as Readonly<Record<string, unknown>>;
  let removesField = false;
  for (const key in given) {
    if (given[key] === undefined && next[key] === undefined) continue;
    next[key] = given[key];
    if (given[key] === undefined) removesField = true;
  }
  return (removesField ? withoutUndefined(next) : next) as T;
}

/** Copies instead of deleting: in V8, an object with a deleted member takes several times the memory and time. */
function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const next: Record<string, unknown> = {};
  for (const key in value) if (value[key] !== undefined) next[key] = value[key];
  return next;
}
