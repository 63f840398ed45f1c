import type { Command, ReadonlyState } from "../../kernel/mode.ts";
import type { ScheduleState, Ticket } from "./state.ts";

/** The prefix of the timers that end a discussion. */
export const DISCUSSION_TIMER = "discussion:";

/** `waits_for` of a blocked ticket while the revision that would restart it waits for approval. */
export const REVISION = "revision";

/** `waits_for` of a ticket that waits for a child session. */
export function waitingForSession(child: string): string {
  return `s${child}`;
}

/** The child session in `waits_for`. Undefined if it names something else. */
export function sessionWaitedFor(waits_for: string | undefined): string | undefined {
  return waits_for?.startsWith("s") ? waits_for.slice(1) : undefined;
}

/** Whether `waits_for` names checks. */
export function waitsForChecks(waits_for: string | undefined): boolean {
  return waits_for?.startsWith("k") === true;
}

/** Whether a ticket's own state allows a person's retry. */
export function canBeRetried({ id, status, reason, delivered, waits_for }: Ticket): boolean {
  if (status === "error" || delivered === true || waits_for === `retry:${id}`) return true;
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

/** The commands that end what a ticket waits for, or the session if `id` is absent. */
export function endWaiting(waits_for: string, id: string | undefined, reason: string): Command[] {
  if (waits_for === "resume" || waits_for === REVISION) return [];
  if (waits_for.startsWith("retry:")) return [{ do: "clear_timer", timer_id: waits_for }];
  if (waitsForChecks(waits_for)) return [{ do: "drop_checks", check_id: waits_for }];
  const child = sessionWaitedFor(waits_for);
  if (child === undefined) return [{ do: "clear_ask", ask_id: waits_for }];
  return [
    { do: "withdraw_session", child, reason },
    { do: "clear_timer", timer_id: `${DISCUSSION_TIMER}${id ?? ""}` },
  ];
}
