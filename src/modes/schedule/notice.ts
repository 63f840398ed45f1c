import { from } from "../../kernel/references.ts";
import { milliseconds } from "../../protocol/timestamp.ts";
import type { Draft } from "./draft.ts";
import { isForWorker } from "./messages.ts";
import { offer } from "./offering.ts";
import type { Ticket } from "./state.ts";

export const NOTICE_TIMER = "notice";

/** Maximum number of waiting tickets that a notice names. */
const NOTICE_LENGTH = 10;

/**
 * Asks the manager whether to keep waiting or to plan again, at most `max_escalations` times per ticket: a manager that always answers with a plan
 * would otherwise never come to an end. Only one such turn is open, beside the turns about tickets.
 */
function askManager(draft: Draft, { id, turn, wait_asks = 0 }: Ticket, record: number): void {
  const { phase, roles, turn: open, waits_for, settings } = draft.session;
  if (wait_asks >= settings.max_escalations) return;
  const isAsked = open !== undefined || waits_for !== undefined || (turn && !isForWorker(turn.message));
  if (phase !== "running" || isAsked || !roles.some(({ type }) => type === "manager")) return;
  draft.patchSession({ long_wait: { ticket: id, record } });
  draft.tickets.patch(id, { wait_asks: wait_asks + 1 });
  offer(draft, undefined, "report");
}

export function armNotice(draft: Draft): void {
  if (draft.session.notice) return;
  draft.patchSession({ notice: true });
  draft.out.setTimer(NOTICE_TIMER, draft.session.settings.dependency_notice_s * 1000, true);
}

/**
 * Reports the unfinished tickets that have held up others for long. A person sees the report at once. The manager is asked about the first ticket for
 * which it holds no turn, and sees the others in the history of their next turns.
 */
export function notice(draft: Draft): void {
  const after = draft.session.settings.dependency_notice_s * 1000;
  const now = milliseconds(draft.fact.received_at);
  for (const ticket of draft.inOrder(draft.before.underway)) {
    const { id } = ticket;
    const dependents = draft.inOrder(draft.before.dependents.get(id) ?? []);
    const waiting = dependents.filter(({ status }) => status === "pending").map((dependent) => dependent.id);
    if (waiting.length === 0 || now - milliseconds(ticket.since) < after) continue;
    const told = draft.out.envelope({
      target: draft.session.roles.find((role) => role.type === "manager")?.role_id ?? "user",
      payload_type: "report",
      subject: id,
      payload: {
        status: "blocked",
        summary: from(ticket.task[0], `${ticket.task[1]}/description`),
        issues: [
          `${id} is ${ticket.status} since ${ticket.since} and holds up ${waiting.slice(0, NOTICE_LENGTH).join(", ")}${waiting.length > NOTICE_LENGTH ? ` and ${waiting.length - NOTICE_LENGTH} more` : ""}`,
        ],
        metadata: { reason: "waiting_for_dependency", ticket_ids: waiting.slice(0, NOTICE_LENGTH) },
      },
    });
    // Each notice replaces the previous one, so that notices do not crowd out the history.
    draft.remember(id, told, ticket.noticed);
    draft.tickets.patch(id, { noticed: told });
    askManager(draft, ticket, told);
  }
  draft.out.setTimer(NOTICE_TIMER, after, true);
}
