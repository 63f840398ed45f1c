import type { ReadonlyState, Results, SessionView, SubjectView } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { artifactsOf, countsOf, planOrder, type ScheduleState, type Ticket } from "./state.ts";

/** A subject for each ticket, in the order of the plan. */
export function view(state: ReadonlyState<ScheduleState>): SessionView {
  const waiting = waitingForTrouble(state);
  return {
    state: state.session?.phase ?? "planning",
    counts: countsOf(state),
    subjects: [...state.tickets.values()].toSorted(planOrder).map(
      (ticket): SubjectView => ({
        id: ticket.id,
        status: ticket.status,
        title: { ...from(ticket.task[0], `${ticket.task[1]}/description`) },
        attempt: ticket.attempt,
        depends_on: ticket.depends_on,
        since: ticket.since,
        ...reasonOf(ticket, waiting.has(ticket.id)),
        ...(ticket.owner === undefined ? {} : { owner: ticket.owner }),
        results: resultsOf(ticket),
      }),
    ),
  };
}

function resultsOf(ticket: Ticket): Results {
  const { reviews = 0, checks_passed, report, spent } = ticket;
  const figures = {
    reviews,
    ...(checks_passed === undefined ? {} : { checks_passed }),
    ...(spent === undefined ? {} : { spent }),
  };
  return { ...(report === undefined ? {} : { latest: report }), kept: artifactsOf(ticket), figures };
}

/** Why a ticket has its status. A pending ticket has no reason of its own, but may wait for one that is blocked or in error. */
export function reasonOf({ status, reason }: Ticket, waits: boolean): { reason?: string } {
  if (reason !== undefined) return { reason };
  return waits && status === "pending" ? { reason: "waiting_for_dependency" } : {};
}

/** The tickets that depend on one that is blocked or in error, directly or not. Visits only those. */
function waitingForTrouble(state: ReadonlyState<ScheduleState>): ReadonlySet<string> {
  const waiting = new Set(state.blockedByError);
  const reached = [...state.underway].filter((id) => state.tickets.get(id)?.status === "blocked");
  for (let next = reached.pop(); next !== undefined; next = reached.pop()) {
    for (const dependent of state.dependents.get(next) ?? []) {
      if (waiting.has(dependent)) continue;
      waiting.add(dependent);
      reached.push(dependent);
    }
  }
  return waiting;
}
