import type { JsonObject } from "../lib/json.ts";

/** The codes an `error` payload may carry (SPEC.md): what agents and the scheduler tell each other. */
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
  "budget_exhausted",
  "checks_failed",
  "conflict",
  "cancelled",
  "internal",
] as const;

/** Failures that another try would only repeat: a spent budget stays spent, and what a person gave up is not begun again by itself. */
export const NOT_RETRIED: ReadonlySet<string> = new Set<WireCode>(["budget_exhausted", "cancelled"]);

export type WireCode = (typeof WIRE_CODES)[number];

/** What went wrong in the product itself; each belongs to one exit code, which `cli.ts` maps. */
export type ProductCode =
  | "usage"
  | "configuration"
  | "environment"
  | "storage"
  | "storage_full"
  | "stale_lease"
  | "stale"
  | "busy"
  | "not_found"
  | "newer_database"
  | "verification_failed"
  | "limit"
  | "person_needed"
  | "interrupted";

export type FailureCode = WireCode | ProductCode;

/** An expected bad outcome, as a value. `message` says what is wrong and where, `hint` what to do next. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: JsonObject;
}

/** Whether the disk or the database refused something: then nothing was wrong with what was to be stored, nor with who brought it. */
export function isOfStorage({ code }: Pick<Failure, "code">): boolean {
  return code === "storage" || code === "storage_full";
}

/** Makes a failure; leaves out what is not given, so that failures compare and serialise the same. */
export function failure(
  code: FailureCode,
  message: string,
  more: { readonly hint?: string | undefined; readonly details?: JsonObject | undefined } = {},
): Failure {
  return {
    code,
    message,
    ...(more.hint === undefined ? {} : { hint: more.hint }),
    ...(more.details === undefined ? {} : { details: more.details }),
  };
}
