import { childId } from "../../kernel/children.ts";
import { sessionWaitedFor } from "../../kernel/kit/holder.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { objectOf } from "../../lib/json.ts";
import type { Draft } from "./draft.ts";
import { offer } from "./offering.ts";
import { isPanelOf } from "./panel-review.ts";
import { onPlanned } from "./planners.ts";
import { onDecision } from "./reviewing.ts";
import type { Ticket } from "./state.ts";
import { DISCUSSION_TIMER } from "./waiting.ts";

/** Handles the end of a child session. After a discussion the manager gets its result and instructs the ticket. Its turns count towards the ticket's budget. */
export function onSessionFinished(draft: Draft, fact: FactOf<"session_finished">): void {
  if (fact.subject === undefined) return onPlanned(draft, fact);
  const ticket = draft.ticket(fact.subject);
  const { session_id, usage } = fact.payload;
  if (!ticket || sessionWaitedFor(ticket.waits_for) !== childId(session_id)) return;
  const { id, allowance } = ticket;
  draft.remember(id);
  draft.out.command({ do: "clear_timer", timer_id: DISCUSSION_TIMER + id });
  if (allowance) draft.tickets.patch(id, { allowance: { ...allowance, used: allowance.used + usage.turns } });
  if (isPanelOf(ticket, session_id)) return onPanelEnded(draft, fact, ticket);
  draft.tickets.patch(id, { session_begun: undefined, discussed: fact.sequence });
  offer(draft, id, "report");
}

/** Handles the end of a panel: its decision is the review, and the manager reviews if there is none. */
function onPanelEnded(draft: Draft, { sequence, payload }: FactOf<"session_finished">, ticket: Ticket): void {
  const { outcome, result, session_id } = payload;
  const { decision } = objectOf(result);
  draft.tickets.patch(ticket.id, { session_begun: undefined, waits_for: undefined });
  if (outcome !== "done" || (decision !== "approved" && decision !== "changes_requested"))
    return offer(draft, ticket.id, "review_request");
  draft.out.envelope({
    target: "user",
    payload_type: "review",
    subject: ticket.id,
    payload: {
      decision,
      requested_changes: from(sequence, "/result/requested_changes"),
      metadata: { session_id, votes: from(sequence, "/result/votes") },
    },
  });
  onDecision(draft, ticket.checks_passed === false ? "changes_requested" : decision, draft.ticket(ticket.id) ?? ticket);
}
