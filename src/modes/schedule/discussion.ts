import { childId } from "../../kernel/children.ts";
import { sessionWaitedFor, waitingForSession } from "../../kernel/kit/holder.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { firstOf, from, linesOf } from "../../kernel/references.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Budget, ResolvedConfiguration } from "../../protocol/payload.ts";
import { isSpent } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { isPanelOf } from "./panel-review.ts";
import type { Discussion, Ticket } from "./state.ts";
import { DISCUSSION_TIMER } from "./waiting.ts";

/** The defaults of a discussion. */
const DEFAULT_BUDGET: Budget = { turns: 40 };
const DEFAULT_TIMEOUT_S = 3600;

/** The configuration of discussions. Undefined if the worker answers proposals. */
export function discussionOf({ discussion }: ResolvedConfiguration): Discussion | undefined {
  if (!discussion) return undefined;
  const { mode, input = {}, budget = DEFAULT_BUDGET, timeout_s = DEFAULT_TIMEOUT_S } = discussion;
  return { mode, input, budget, timeout_s };
}

/** Opens a child session that discusses the manager's proposal for a ticket. */
export function discuss(draft: Draft, ticket: Ticket, { mode, input, budget }: Discussion): void {
  if (isSpent(ticket, draft.fact.received_at)) {
    draft.exhausted.add(ticket.id);
    return;
  }
  const child = String(draft.fact.sequence);
  const { turns, used = 0 } = ticket.allowance ?? {};
  draft.tickets.patch(ticket.id, { waits_for: waitingForSession(child), session_begun: undefined });
  draft.out.command({
    do: "open_session",
    child,
    mode,
    subject: ticket.id,
    input: { ...input, topic: topicOf(ticket, draft.fact.sequence) },
    budget: turns === undefined ? budget : { ...budget, turns: Math.min(budget.turns ?? turns, turns - used) },
  });
}

function topicOf({ task: [planned, task] }: Ticket, proposal: number): JsonObject {
  return linesOf(
    "How should this task be done?",
    from(planned, `${task}/description`),
    ["Proposed:", from(proposal, "/summary")],
    ["Steps:", from(proposal, "/draft_steps")],
    ["Risks:", from(proposal, "/risks")],
    ["Open questions:", from(proposal, "/open_questions")],
  );
}

export function onSessionBegun(draft: Draft, fact: FactOf<"session_begun">): void {
  const { subject, payload } = fact;
  const ticket = draft.ticket(subject);
  const { discussion, panel, planners } = draft.session.settings;
  const ofTicket = ticket && isPanelOf(ticket, payload.session_id) ? panel : discussion;
  const opened = subject === undefined ? planners : ofTicket;
  if (!opened || sessionWaitedFor(draft.holder(subject)?.waits_for) !== childId(payload.session_id)) return;
  if (ticket) draft.tickets.patch(ticket.id, { session_begun: true });
  draft.out.setTimer(DISCUSSION_TIMER + (subject ?? ""), opened.timeout_s * 1000, true);
}

/** Withdraws a child session whose time is up: of a ticket, or of the planners. Its end is still reported. */
export function onDiscussionTimeUp(draft: Draft, id: string): void {
  const child = sessionWaitedFor(draft.holder(id === "" ? undefined : id)?.waits_for);
  if (child !== undefined) draft.out.command({ do: "withdraw_session", child, reason: "timeout" });
}

/**
 * The end of a discussion, as a report on the manager's proposal. A mode has `conclusion` and `dissent` in its result, or in a `verdict` inside it.
 */
export function discussionReport(finished: number): JsonObject {
  const resultOf = (field: string) =>
    firstOf(from(finished, `/result/verdict/${field}`), from(finished, `/result/${field}`));
  return {
    status: "proposal",
    summary: linesOf(
      "The proposal was discussed in a session of its own.",
      ["How that ended:", from(finished, "/outcome")],
      ["Why:", from(finished, "/reason")],
      ["What it came to:", resultOf("conclusion")],
    ),
    issues: resultOf("dissent"),
    metadata: { session_id: from(finished, "/session_id") },
  };
}
