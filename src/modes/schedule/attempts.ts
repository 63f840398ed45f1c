import { hash } from "node:crypto";
import type { FactOf } from "../../kernel/mode.ts";
import type { Patch } from "../../kernel/step.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { CONFIGURATION_DEFAULTS } from "../../protocol/payload.ts";
import type { Draft } from "./draft.ts";
import type { Settings, Ticket } from "./state.ts";

/** The most attempts at a ticket: as configured, or fewer if its task says so. Sessions of earlier versions have no such setting. */
export function maxAttempts(settings: Settings, { max_attempts = Number.POSITIVE_INFINITY }: Ticket): number {
  return Math.min(max_attempts, settings.max_attempts ?? CONFIGURATION_DEFAULTS.max_attempts);
}

/** How many attempts a ticket has left, whatever they are for: retries, rework and escalations count together. */
export function attemptsLeft(settings: Settings, ticket: Ticket): number {
  const { attempt, attempts_before = 0 } = ticket;
  return Math.max(0, maxAttempts(settings, ticket) - (attempt - attempts_before));
}

/** A ticket's attempts and failures begin afresh when a person takes it up. */
export function withFreshAttempts({ attempt }: Ticket): Patch<Ticket> {
  return { attempts_before: attempt, failed_as: undefined, spent: undefined };
}

/**
 * Keeps what the fact says of a failed attempt. Whether the failure before it said the same: then another try would most likely fail
 * the same way.
 */
export function isRepeated(draft: Draft, id: string, code: string, evidence: Json): boolean {
  const before = draft.ticket(id)?.failed_as;
  const compared = canonicalJson([draft.answered?.message ?? null, draft.fact.payload_type, code, evidence]);
  const failed_as = hash("sha256", compared, "buffer").toString("hex", 0, 16);
  draft.patchTicket(id, { failed_as });
  return failed_as === before;
}

/** What is compared of a failed worker turn or an agent's `error`. */
export function evidenceOf({ payload }: FactOf<"turn_failed"> | FactOf<"error">): JsonObject {
  const { message, details, refused = [] } = payload as FactOf<"turn_failed">["payload"];
  const { retry_at: _, ...compared } = objectOf(details);
  return { message, details: compared, refused };
}
