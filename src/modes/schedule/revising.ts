import { defined } from "../../lib/json.ts";
import type { Task } from "../../protocol/payload.ts";
import { carriedOver } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { withdraw } from "./offering.ts";
import { isAddition, type Place, type Revision, type Ticket } from "./state.ts";
import { newTicket, taskAt } from "./tasks.ts";
import { REVISION } from "./waiting.ts";

/** Returns what a revised plan changes about the tickets. */
export function revisionOf(draft: Draft, tasks: readonly Task[], plan: Place): Revision {
  const tickets = tasks.map((task, index) => newTicket(draft, task, taskAt(plan, index)));
  const ids = new Set(tickets.map(({ id }) => id));
  return {
    plan,
    planned: tickets.filter((one) => {
      const ticket = draft.ticket(one.id);
      if (ticket?.digest !== one.digest || restarts(ticket, one)) return true;
      return ticket.order !== one.order || ticket.unplanned === true;
    }),
    // A ticket that an earlier plan left out and a person has retried stays: this plan is not about it.
    left_out: draft.all().flatMap(({ id, unplanned, waits_for }) => {
      return ids.has(id) || (unplanned && waits_for !== REVISION) ? [] : [id];
    }),
  };
}

/** Whether a revision adds tickets, which a person must approve. */
export function isAdding(draft: Draft, { planned }: Revision): boolean {
  return planned.some(({ id }) => isAddition(draft.ticket(id)));
}

/**
 * Applies a revised plan. Tickets that it leaves out are withdrawn. Changed tickets restart, and so do those that waited for the revision. New
 * tickets are added. Tickets that were done meanwhile stay done.
 */
export function revise(draft: Draft, { plan, planned, left_out }: Revision): void {
  for (const id of left_out) {
    const { status } = draft.tickets.patch(id, { unplanned: true });
    if (status === "done" || status === "error") continue;
    withdraw(draft, id, "withdrawn by the revised plan");
    draft.move(id, "withdrawn", "withdrawn");
  }
  for (const one of planned) {
    const ticket = draft.ticket(one.id);
    if (!ticket) create(draft, one);
    else if (restarts(ticket, one)) restart(draft, ticket, one);
    // Later plans are compared with this one, since it is the plan that the manager sees.
    else draft.tickets.patch(ticket.id, { order: one.order, digest: one.digest, unplanned: undefined });
  }
  draft.patchSession({ plan });
}

function restarts(ticket: Ticket, planned: Ticket): boolean {
  if (ticket.status === "done") return false;
  return ticket.digest !== planned.digest || ticket.waits_for === REVISION || isAddition(ticket);
}

/** Moves a ticket back to pending through its state machine. It keeps its history, notes and counts. */
function restart(draft: Draft, ticket: Ticket, planned: Ticket): void {
  withdraw(draft, ticket.id, "the plan was revised");
  draft.stopTime(ticket);
  if (ticket.status === "error") {
    draft.move(ticket.id, "manual_reset", "replanned");
  } else if (ticket.status !== "pending") {
    if (ticket.status !== "blocked") draft.move(ticket.id, "work_stopped", "replanned");
    draft.move(ticket.id, "replanned");
  }
  const before = draft.ticket(ticket.id) ?? ticket;
  const { attempt, attempts_before, failed_as, history, notes, clarifications, since, allowance } = before;
  const seen = [...new Set([...(planned.seen ?? []), ...(before.seen ?? [])])];
  draft.tickets.put(ticket.id, {
    ...planned,
    ...(allowance ? carriedOver(planned, allowance) : {}),
    since,
    attempt,
    ...defined({ attempts_before, failed_as, history, notes, clarifications }),
    // Kept, because a manager that answers every escalation with a plan would otherwise never reach the limit.
    ...defined({ escalations: before.escalations, wait_asks: before.wait_asks }),
    ...(seen.length > 0 ? { seen } : {}),
  });
}

export function create(draft: Draft, planned: Ticket): void {
  draft.tickets.put(planned.id, { ...planned, since: draft.fact.received_at });
  draft.out.created(planned.id, "created", "pending");
}
