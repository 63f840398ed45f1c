import type { Presentation } from "../../kernel/presentation.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";

/** A schedule is shown as its tickets. */
export const schedulePresentation: Presentation = {
  subjectName: "ticket",
  statuses: {
    error: { icon: "x", tone: "bad", stage: "failed" },
    blocked: { icon: "!", tone: "warn", stage: "stuck" },
    discussing: { icon: "?", tone: "busy", stage: "open" },
    awaiting_review: { icon: "R", tone: "busy", stage: "begun", unattended: "waiting_for_reviewer" },
    in_progress: { icon: ">", tone: "busy", stage: "begun" },
    pending: { icon: "·", tone: "quiet", stage: "waiting", held_up: "waiting_for_dependency" },
    done: { icon: "+", tone: "good", stage: "done" },
  },
  retries: true,
  closingReasons: {
    tickets_failed: "Not every ticket could be done.",
    result_rejected: "The result was not accepted.",
    plan_rejected: "The plan was not approved.",
  },
  worthRetrying,
  // Its reports have no `result`.
  parts: () => [],
};

/** The reasons of tickets that a person gave up. */
const GIVEN_UP: ReadonlySet<Json | undefined> = new Set(["cancelled", "plan_rejected"]);

function worthRetrying(report: JsonObject): string[] {
  const tickets = listOf(report.tickets).map(objectOf);
  const awaited = new Set<Json | undefined>(tickets.flatMap(({ blocked_by }) => listOf(blocked_by)));
  return tickets.flatMap(({ ticket_id, status, reason }) =>
    typeof ticket_id === "string" && isWorthRetrying({ status, reason }, awaited.has(ticket_id)) ? [ticket_id] : [],
  );
}

/**
 * Whether a ticket failed in a way that a person may want to retry: not if a person gave it up, nor if a plan withdrew
 * it and nothing waits for it.
 */
export function isWorthRetrying(
  { status, reason }: { readonly status: Json | undefined; readonly reason?: Json | undefined },
  isAwaited: boolean,
): boolean {
  return status === "error" && !GIVEN_UP.has(reason) && (reason !== "withdrawn" || isAwaited);
}
