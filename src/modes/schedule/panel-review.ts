import { childId } from "../../kernel/children.ts";
import { waitingForSession } from "../../kernel/kit/holder.ts";
import { from, linesOf } from "../../kernel/references.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Draft } from "./draft.ts";
import type { Panel, Ticket } from "./state.ts";

/** Seconds that a panel may take. */
const TIMEOUT_S = 3600;

/** The panel of the settings, if it reviews. */
export function panelOf({ review }: ResolvedConfiguration): Panel | undefined {
  if (typeof review === "string") return undefined;
  const { panel: members, vote, rounds } = review;
  return { members, timeout_s: TIMEOUT_S, ...defined({ threshold: vote, rounds }) };
}

/** Opens a child session in which a panel reviews the delivered work of a ticket. */
export function askPanel(draft: Draft, ticket: Ticket, { members, rounds = 2, threshold }: Panel): void {
  const child = String(draft.fact.sequence);
  draft.tickets.patch(ticket.id, { waits_for: waitingForSession(child), session_begun: undefined });
  draft.out.command({
    do: "open_session",
    child,
    mode: "panel",
    subject: ticket.id,
    input: { members: [...members], rounds, ...defined({ threshold }), topic: topicOf(ticket) },
    // Each member may fail once in a round.
    budget: { turns: 2 * rounds * members.length },
  });
}

function topicOf({ task: [planned, task], report = planned, check }: Ticket): JsonObject {
  return linesOf(
    "Is this work done as it was asked?",
    ["The task:", from(planned, `${task}/description`)],
    ["What it was to deliver:", from(planned, `${task}/expected_outputs`)],
    ["Its criteria:", from(planned, `${task}/acceptance_criteria`)],
    ["What its worker reports:", from(report, "/summary")],
    ["Its outputs:", from(report, "/outputs")],
    ["Open issues:", from(report, "/issues")],
    ...(check === undefined ? [] : [["What its checks gave:", from(check, "/results")] as const]),
  );
}

/** Whether a child session is the panel of a ticket. */
export function isPanelOf({ status, waits_for }: Ticket, session_id: string): boolean {
  return status === "awaiting_review" && waits_for === waitingForSession(childId(session_id));
}
