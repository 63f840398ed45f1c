import type { FailureCode } from "../../protocol/failure.ts";

const MINUTE_MS = 60_000;

/** Why a turn could not be done, whoever said so. */
export type CauseName = keyof typeof CAUSES;

export interface Cause {
  readonly code: FailureCode;
  /** `details.reason`, for causes that share a code. */
  readonly reason?: string;
  /**
   * How long the role is held if nobody said until when: milliseconds, or until a person releases it. Outages have the back-off of the session
   * instead, and other failures hold nothing.
   */
  readonly held?: number | "released";
  /** Follows the name of the role: "Role builder (codex) has no credit". */
  readonly says: string;
  readonly hint: string;
}

/** What each cause means for the role and its turn. docs/agents/limits.md shows this table to users. */
export const CAUSES = {
  credit: {
    code: "rate_limited",
    held: "released",
    says: "has no credit left, or has spent what it may",
    hint: "Add credit to the account or raise its limit, then release the role.",
  },
  limit: {
    code: "rate_limited",
    held: MINUTE_MS,
    says: "has reached a limit of its account",
    hint: "The role goes on by itself when the limit allows it.",
  },
  // The service answers, and its other models can be used: no outage.
  capacity: {
    code: "rate_limited",
    held: MINUTE_MS,
    says: "uses a model that is at capacity",
    hint: "The role goes on by itself. Name another model if this lasts.",
  },
  login: {
    code: "authentication",
    says: "has no login or key that its model's server accepts",
    hint: "Log in with its program, or name the variable of its key in pass_env of the role. Then release the role.",
  },
  account: {
    code: "authentication",
    says: "may not use its model with this account",
    hint: "Settle it with the provider or the organisation's owner, then release the role.",
  },
  trust: {
    code: "trust",
    says: "does not trust the workspace",
    hint: "Run its program in the workspace once and trust it.",
  },
  outage: {
    code: "unavailable",
    says: "cannot reach its model's server, or the server cannot serve it now",
    hint: "Bosun tries again by itself. A server of your own is named in pass_env or env of the role.",
  },
  flag: {
    code: "environment",
    says: "does not take a flag that it is given",
    hint: "Check the flags in cli_command of the role, or update the program. docs/agents names the tested versions.",
  },
  context: {
    code: "agent_failed",
    reason: "context_overflow",
    says: "was given more than its context holds",
    hint: "Give it smaller tasks, a model with a larger context, or a lower max_conversation_tokens.",
  },
  length: {
    code: "agent_failed",
    reason: "max_tokens",
    says: "reached its limit of tokens before it had answered",
    hint: "Give it smaller tasks, or raise the limit in the program's own settings.",
  },
  requests: {
    code: "agent_failed",
    reason: "max_turns",
    says: "did not finish within its limit of requests to the model",
    hint: "Give it smaller tasks, or raise the limit in cli_command of the role or in the program's own settings.",
  },
  budget: {
    code: "budget_exhausted",
    says: "has used what this turn may cost",
    hint: "Raise the budget of the session or the role.",
  },
  schema: {
    code: "validation_failed",
    says: "gave no answer that fits the schema",
    hint: "Name another model in the role, or make the task simpler.",
  },
  refusal: {
    code: "agent_failed",
    reason: "refusal",
    says: "was refused by its model",
    hint: "Word the task differently, or name another model.",
  },
  model: {
    code: "agent_failed",
    reason: "model",
    says: "cannot use the model that it is given",
    hint: "Correct the model of the role, or the provider in the program's own settings.",
  },
  interrupted: {
    code: "agent_failed",
    reason: "interrupted",
    says: "was interrupted",
    hint: "The turn's events.ndjson, beside the log, holds all that it said.",
  },
  unknown: {
    code: "agent_failed",
    says: "could not finish",
    hint: "The turn's events.ndjson, beside the log, holds all that it said.",
  },
} as const satisfies Record<string, Cause>;
