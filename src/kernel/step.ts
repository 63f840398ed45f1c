import { type Failure, failure } from "../protocol/failure.ts";
import type { Fact, Step, TurnId } from "./mode.ts";

/** The state does not accept what a step wants of it, with the reason as message: thrown while a step is written, for `stepOf`. */
export class EventRefused extends Error {}

/** The step of what moves nothing. */
export const NOTHING: Step = { changes: [], envelopes: [], effects: [], commands: [] };

/** The step that is written; a refusal without changes where the state does not accept it, so that nothing is dropped in silence. */
export function stepOf(write: () => Step): Step {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof EventRefused)) throw error;
    return { ...NOTHING, refused: failure("not_permitted", error.message) };
  }
}

/** Why a word that answers no turn is refused: there is no message to put again. */
export function notPermitted(message: string, hint: string): Failure {
  return failure("not_permitted", message, { hint });
}

/** The id of the `n`th turn that is offered in a fact's step. */
export function turnId({ sequence }: Fact, n: number): TurnId {
  return n === 1 ? `t${sequence}` : `t${sequence}.${n}`;
}

/** Back-off doubles and stays below this. */
const MAX_BACKOFF_MS = 60_000;

/** How long to wait after one more failure, when so many came before it. */
export function backoff(first_ms: number, before: number): number {
  return Math.min(first_ms * 2 ** before, MAX_BACKOFF_MS);
}

/** New values for some fields; `undefined` takes a field away. */
export type Patch<T> = { readonly [K in keyof T]?: T[K] | undefined };

export function patched<T extends object>(value: T, patch: Patch<T>): T {
  const next = { ...value } as Record<string, unknown>;
  const given = patch as Readonly<Record<string, unknown>>;
  let isLess = false;
  for (const key in given) {
    if (given[key] === undefined && next[key] === undefined) continue;
    next[key] = given[key];
    if (given[key] === undefined) isLess = true;
  }
  return (isLess ? withoutUndefined(next) : next) as T;
}

/** Copied and not deleted from: an object that lost a member costs several times the memory and the time. */
function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const next: Record<string, unknown> = {};
  for (const key in value) if (value[key] !== undefined) next[key] = value[key];
  return next;
}
