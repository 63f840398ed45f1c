import type { ReadonlyState, Results, SessionView, SubjectView } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { artifactsOf, countsOf, planOrder, type ScheduleState, type Ticket } from "./state.ts";

/** What reporters and `status` may know: one subject a ticket, in plan order. */
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
  const { reviews = 0, checks_passed, report } = ticket;
  const figures = { reviews, ...(checks_passed === undefined ? {} : { checks_passed }) };
  return { ...(report === undefined ? {} : { latest: report }), kept: artifactsOf(ticket), figures };
}

/** Why a ticket stands where it does; one that has not begun has no reason of its own, but may wait for one in trouble. */
export function reasonOf({ status, reason }: Ticket, waits: boolean): { reason?: string } {
  if (reason !== undefined) return { reason };
  return waits && status === "pending" ? { reason: "waiting_for_dependency" } : {};
}

/** The tickets that wait, directly or not, for one that is blocked or in error. Costs what waits, not what is planned. */
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
