import { defined, type JsonObject } from "../lib/json.ts";
import { err, type Result } from "../lib/result.ts";

/** The codes of an `error` payload (SPEC.md), between agents and the scheduler. */
export const WIRE_CODES = [
  "validation_failed",
  "not_permitted",
  "invalid_plan",
  "timeout",
  "idle_timeout",
  "agent_failed",
  "no_answer",
  "malformed_output",
  "output_limit",
  "rate_limited",
  "authentication",
  "trust",
  "unavailable",
  "environment",
  "budget_exhausted",
  "checks_failed",
  "conflict",
  "cancelled",
  "internal",
] as const;

/** Failures that a retry would repeat, or that a person chose: a spent budget, a cancelled ticket. */
export const NOT_RETRIED: ReadonlySet<string> = new Set<WireCode>(["budget_exhausted", "cancelled"]);

export type WireCode = (typeof WIRE_CODES)[number];

/** Failures of the product itself; `cli.ts` maps each code to an exit code. */
export type ProductCode =
  | "usage"
  | "configuration"
  | "storage"
  | "storage_full"
  | "stale_lease"
  | "busy"
  | "not_found"
  | "newer_database"
  | "verification_failed"
  | "limit"
  | "person_needed"
  | "interrupted";

export type FailureCode = WireCode | ProductCode;

/** An expected failure, as a value. `message` says what is wrong and where, `hint` what to do next. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: JsonObject;
}

/** Whether the disk or the database failed, and not the value or its sender. */
export function isOfStorage({ code }: Pick<Failure, "code">): boolean {
  return code === "storage" || code === "storage_full";
}

/** A value, or why there is none. */
export type Fallible<T> = Result<T, Failure>;

/** What may be known of a failure beside its message: what to do next, and its facts. */
type More = { readonly hint?: string | undefined; readonly details?: JsonObject | undefined };

/** Makes a failure without undefined fields, so that failures compare and serialise alike. */
export function failure(code: FailureCode, message: string, more: More = {}): Failure {
  return { code, message, ...defined({ hint: more.hint, details: more.details }) };
}

export function fails(code: FailureCode, message: string, more?: More): Result<never, Failure> {
  return err(failure(code, message, more));
}
