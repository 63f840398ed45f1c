import type { ModeReader } from "../../kernel/mode.ts";
import { depthsOf } from "../../lib/cycle.ts";
import { apply } from "./apply.ts";
import { schedulePresentation } from "./presentation.ts";
import { empty, type ScheduleState, type Ticket } from "./state.ts";
import { ids, results, subject } from "./view.ts";
import { canBeRetried, errorBefore } from "./waiting.ts";

/** The part of the schedule mode that loads and shows a session. It imports no rules, so that `status` starts fast. */
export const scheduleReader: ModeReader<ScheduleState> = {
  name: "schedule",
  presentation: schedulePresentation,
  empty,
  apply,
  phase: ({ session }) => session?.phase ?? "planning",
  subjects: "ticket",
  ids,
  subject,
  results,
  hears: ({ tickets }, id) => tickets.get(id)?.status !== "done",
  retrying: {
    which: "a ticket in error, waiting for a retry, out of budget, or blocked with delivered work",
    may: ({ tickets }, id) => isRetriable(tickets.get(id)),
    all: ({ tickets }) => [...depthsOf([...tickets.values()]).keys()].filter((id) => isPlanned(tickets.get(id))),
    before: (state, id) => {
      const ticket = state.tickets.get(id);
      return ticket && errorBefore((other) => state.tickets.get(other), state, ticket);
    },
  },
};

function isRetriable(ticket: Ticket | undefined): boolean {
  return ticket !== undefined && canBeRetried(ticket);
}

/** Leaves out what a revised plan left out. */
function isPlanned(ticket: Ticket | undefined): boolean {
  return ticket?.unplanned !== true && isRetriable(ticket);
}
