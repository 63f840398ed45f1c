import type { Task } from "../../protocol/payload.ts";
import { spentOf } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { withdraw } from "./offering.ts";
import { isAddition, type Place, type Revision, type Ticket } from "./state.ts";
import { newTicket, taskAt } from "./tasks.ts";
import { REVISION } from "./waiting.ts";

/** What a revised plan makes of the tickets as they stand. */
export function revisionOf(draft: Draft, tasks: readonly Task[], plan: Place): Revision {
  const tickets = tasks.map((task, index) => newTicket(draft, task, taskAt(plan, index)));
  const ids = new Set(tickets.map(({ id }) => id));
  return {
    plan,
    planned: tickets.filter((one) => {
      const ticket = draft.ticket(one.id);
      if (ticket?.digest !== one.digest || isBegunAnew(ticket, one)) return true;
      return ticket.order !== one.order || ticket.unplanned === true;
    }),
    // What a plan left out before and is not in error now, a person has taken up again. A plan about another ticket knows nothing of that.
    left_out: draft.all().flatMap(({ id, unplanned, waits_for }) => {
      return ids.has(id) || (unplanned && waits_for !== REVISION) ? [] : [id];
    }),
  };
}

/** Whether a person has not approved all that it wants done. */
export function isAdding(draft: Draft, { planned }: Revision): boolean {
  return planned.some(({ id }) => isAddition(draft.ticket(id)));
}

/**
 * Takes over a revised plan. Absent tasks are withdrawn. Changed ones start again, as do those whose trouble a plan answers. New ones
 * are added. What was done before it was approved stands as it was done, whatever the plan says of it.
 */
export function revise(draft: Draft, { plan, planned, left_out }: Revision): void {
  for (const id of left_out) {
    const { status } = draft.patchTicket(id, { unplanned: true });
    if (status === "done" || status === "error") continue;
    withdraw(draft, id, "withdrawn by the revised plan");
    draft.move(id, "withdrawn", "withdrawn");
  }
  for (const one of planned) {
    const ticket = draft.ticket(one.id);
    if (!ticket) create(draft, one);
    else if (isBegunAnew(ticket, one)) restart(draft, ticket, one);
    // Later plans are held to how this one has what is done, since it is the one that their manager is shown.
    else draft.patchTicket(ticket.id, { order: one.order, digest: one.digest, unplanned: undefined });
  }
  draft.patchSession({ plan });
}

function isBegunAnew(ticket: Ticket, planned: Ticket): boolean {
  if (ticket.status === "done") return false;
  return ticket.digest !== planned.digest || ticket.waits_for === REVISION || isAddition(ticket);
}

/** Back to pending along the machine's own arrows, keeping what the ticket has lived through. */
function restart(draft: Draft, ticket: Ticket, planned: Ticket): void {
  withdraw(draft, ticket.id, "the plan was revised");
  draft.stopTime(ticket);
  if (ticket.status === "error") {
    draft.move(ticket.id, "manual_reset", "replanned");
  } else if (ticket.status !== "pending") {
    if (ticket.status !== "blocked") draft.move(ticket.id, "work_stopped", "replanned");
    draft.move(ticket.id, "replanned");
  }
  const { attempt, history, notes, clarifications, since, escalations, allowance } = draft.ticket(ticket.id) ?? ticket;
  draft.putTicket({
    ...planned,
    ...(allowance ? spentOf(planned, allowance) : {}),
    since,
    attempt,
    // Else a manager that answers every trouble with a plan would never come to the end of its escalations.
    ...(escalations === undefined ? {} : { escalations }),
    ...(history ? { history } : {}),
    ...(notes ? { notes } : {}),
    ...(clarifications ? { clarifications } : {}),
  });
}

export function create(draft: Draft, planned: Ticket): void {
  draft.putTicket({ ...planned, since: draft.fact.received_at });
  draft.created(planned.id);
}
