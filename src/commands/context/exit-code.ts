import type { LedgerFigures } from "../../kernel/ledger.ts";
import type { Result } from "../../lib/result.ts";
import type { Failure, FailureCode } from "../../protocol/failure.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import {
  EXIT_BUSY,
  EXIT_ENVIRONMENT,
  EXIT_INTERNAL,
  EXIT_INTERRUPTED,
  EXIT_LIMIT,
  EXIT_PERSON_NEEDED,
  EXIT_TIMED_OUT,
  EXIT_USAGE,
  EXIT_VERIFICATION,
  exitCodeOf,
} from "../../runtime/exit.ts";

/** The exit code of a failed command. Agents' failures never end a command: they map to 70, a bug. `wait` has its own `timeout`; `checks_failed` refuses a person's approval. */
export const EXIT_CODE_OF: Readonly<Record<FailureCode, number>> = {
  usage: EXIT_USAGE,
  not_found: EXIT_USAGE,
  validation_failed: EXIT_USAGE,
  not_permitted: EXIT_USAGE,
  checks_failed: EXIT_USAGE,
  configuration: EXIT_ENVIRONMENT,
  environment: EXIT_ENVIRONMENT,
  unavailable: EXIT_ENVIRONMENT,
  trust: EXIT_ENVIRONMENT,
  storage: EXIT_ENVIRONMENT,
  storage_full: EXIT_ENVIRONMENT,
  newer_database: EXIT_ENVIRONMENT,
  invalid_plan: EXIT_ENVIRONMENT,
  conflict: EXIT_ENVIRONMENT,
  authentication: EXIT_ENVIRONMENT,
  person_needed: EXIT_PERSON_NEEDED,
  limit: EXIT_LIMIT,
  budget_exhausted: EXIT_LIMIT,
  rate_limited: EXIT_LIMIT,
  verification_failed: EXIT_VERIFICATION,
  busy: EXIT_BUSY,
  stale_lease: EXIT_BUSY,
  interrupted: EXIT_INTERRUPTED,
  cancelled: EXIT_INTERRUPTED,
  timeout: EXIT_TIMED_OUT,
  idle_timeout: EXIT_INTERNAL,
  agent_failed: EXIT_INTERNAL,
  no_answer: EXIT_INTERNAL,
  malformed_output: EXIT_INTERNAL,
  output_limit: EXIT_INTERNAL,
  internal: EXIT_INTERNAL,
};

/** The exit code of a command that ran a session. */
export function exitCodeAfter(end: Result<SessionEnd, Failure>, { stopped }: LedgerFigures): number {
  return end.ok ? exitCodeOf(end.value, stopped?.signal) : EXIT_CODE_OF[end.error.code];
}
