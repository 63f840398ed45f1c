import { hash } from "node:crypto";
import type { FactOf } from "../../kernel/mode.ts";
import type { Patch } from "../../kernel/step.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { CONFIGURATION_DEFAULTS } from "../../protocol/payload.ts";
import type { Draft } from "./draft.ts";
import type { Settings, Ticket } from "./state.ts";

/** Maximum number of attempts at a ticket: as configured, or fewer if its task says so. Sessions of earlier versions have no such setting. */
export function maxAttempts(settings: Settings, { max_attempts = Number.POSITIVE_INFINITY }: Ticket): number {
  return Math.min(max_attempts, settings.max_attempts ?? CONFIGURATION_DEFAULTS.max_attempts);
}

/** Number of attempts that a ticket has left. Retries, rework and escalations count together. */
export function attemptsLeft(settings: Settings, ticket: Ticket): number {
  const { attempt, attempts_before = 0 } = ticket;
  return Math.max(0, maxAttempts(settings, ticket) - (attempt - attempts_before));
}

/** Resets a ticket's attempts and failures when a person takes it up. */
export function withFreshAttempts({ attempt }: Ticket): Patch<Ticket> {
  return { attempts_before: attempt, failed_as: undefined, spent: undefined };
}

/**
 * Stores a digest of a failed attempt, and returns whether the failure before it was the same. If so, another try would most likely fail the same
 * way.
 */
export function isRepeated(draft: Draft, id: string, code: string, evidence: Json): boolean {
  const before = draft.ticket(id)?.failed_as;
  const compared = canonicalJson([draft.answered?.message ?? null, draft.fact.payload_type, code, evidence]);
  const failed_as = hash("sha256", compared, "buffer").toString("hex", 0, 16);
  draft.tickets.patch(id, { failed_as });
  return failed_as === before;
}

/** The part of a failed worker turn or an agent's `error` that is compared. */
export function evidenceOf({ payload }: FactOf<"turn_failed"> | FactOf<"error">): JsonObject {
  const { message, details, refused = [] } = payload as FactOf<"turn_failed">["payload"];
  const { retry_at: _, ...compared } = objectOf(details);
  return { message, details: compared, refused };
}
