import type { Presentation } from "../../kernel/presentation.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";

/** A schedule for people: its tickets, and those that they may want to try again. */
export const scheduleShowing: Presentation = {
  subject: "ticket",
  because: {
    tickets_failed: "Not every ticket could be done.",
    result_rejected: "The result was not accepted.",
    plan_rejected: "The plan was not approved.",
  },
  lost,
  // Its reports have tickets and no result.
  parts: () => [],
};

/** Why a ticket is in error of which the person knows, since they said so. */
const GIVEN_UP: ReadonlySet<Json | undefined> = new Set(["cancelled", "plan_rejected"]);

function lost(report: JsonObject): string[] {
  const tickets = listOf(report.tickets).map(objectOf);
  const awaited = new Set<Json | undefined>(tickets.flatMap(({ blocked_by }) => listOf(blocked_by)));
  return tickets.flatMap(({ ticket_id, status, reason }) =>
    typeof ticket_id === "string" && isLost({ status, reason }, awaited.has(ticket_id)) ? [ticket_id] : [],
  );
}

/** What a person gave up is no failure that anybody would look into, nor is what a plan withdrew and nothing waits for. */
export function isLost(
  { status, reason }: { readonly status: Json | undefined; readonly reason?: Json | undefined },
  isAwaited: boolean,
): boolean {
  return status === "error" && !GIVEN_UP.has(reason) && (reason !== "withdrawn" || isAwaited);
}
