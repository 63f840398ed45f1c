import type { Command } from "../../kernel/mode.ts";
import type { Ticket } from "./state.ts";

/** The timer after which a ticket's discussion is broken off. */
export const DISCUSSION_TIMER = "discussion:";

/** What a blocked ticket waits for whose trouble a revised plan answered, as long as that waits for approval. */
export const REVISION = "revision";

/** What waits for a child session says so by the child's number. */
export function waitingForSession(child: string): string {
  return `s${child}`;
}

/** The child session that is waited for; undefined if it is something else. */
export function sessionWaitedFor(waits_for: string | undefined): string | undefined {
  return waits_for?.startsWith("s") ? waits_for.slice(1) : undefined;
}

/** Whether checks are waited for. */
export function waitsForChecks(waits_for: string | undefined): boolean {
  return waits_for?.startsWith("k") === true;
}

/** Whether a person may have a ticket tried again, as far as that is up to the ticket itself. */
export function canBeRetried({ id, status, reason, delivered, waits_for }: Ticket): boolean {
  if (status === "error" || delivered === true || waits_for === `retry:${id}`) return true;
  return status === "blocked" && reason === "budget_exhausted";
}

/** What has to be told so that nothing comes any more of what a ticket waits for, or the session where `id` is absent. */
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
