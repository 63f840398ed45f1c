import type { ReadonlyState, SessionView, SubjectView } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { countsOf, planOrder, type ScheduleState } from "./state.ts";

/** What reporters and `status` may know: one subject a ticket, in plan order. */
export function view(state: ReadonlyState<ScheduleState>): SessionView {
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
        ...(ticket.reason === undefined ? {} : { reason: ticket.reason }),
        ...(ticket.owner === undefined ? {} : { owner: ticket.owner }),
      }),
    ),
  };
}
