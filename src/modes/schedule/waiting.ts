import { retryTimer } from "../../kernel/kit/holder.ts";
import type { ReadonlyState } from "../../kernel/mode.ts";
import type { ScheduleState, Ticket } from "./state.ts";

/** The prefix of the timers that end a discussion. */
export const DISCUSSION_TIMER = "discussion:";

/** The prefix of the ids of checks that merge a ticket's work. */
export const MERGE = "km";

/** `waits_for` of a blocked ticket while the revision that would restart it waits for approval. */
export const REVISION = "revision";

/** Whether a ticket's own state allows a person's retry. */
export function canBeRetried({ id, status, reason, delivered, waits_for }: Ticket): boolean {
  if (status === "error" || delivered === true || waits_for === retryTimer(id)) return true;
  return status === "blocked" && reason === "budget_exhausted";
}

/** Returns the ticket to retry: the one in error that this one depends on, directly or not, and that depends on no other in error. */
export function errorBefore(
  ticketOf: (id: string) => Ticket | undefined,
  { blockedByError }: Pick<ReadonlyState<ScheduleState>, "blockedByError">,
  { depends_on }: Ticket,
): string | undefined {
  const cannotBeDone = (id: string) => ticketOf(id)?.status === "error" || blockedByError.has(id);
  let found: string | undefined;
  for (let next = depends_on.find(cannotBeDone); next !== undefined; ) {
    found = next;
    next = ticketOf(next)?.depends_on.find(cannotBeDone);
  }
  return found;
}
