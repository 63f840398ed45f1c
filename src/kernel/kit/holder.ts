import type { Json } from "../../lib/json.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Command } from "../mode.ts";

/** How often a message was sent before, and why its last answer was refused. */
export interface Tries {
  /** Number of times that the message was sent before, counting failed turns and refused answers. */
  readonly retries: number;
  /** Why the previous answer was refused; sent as `context.refused`. */
  readonly refused?: readonly Json[];
  /** Number of rounds of questions that this message has led to. */
  readonly rounds?: number;
  /** Set in modes whose prompts show records: the last one when the message was first sent. Those who are asked at once answer independently. */
  readonly as_of?: number;
}

/** A turn that is offered or open. `M` are the messages of the mode. */
export interface OpenTurn<M extends PayloadType = PayloadType> extends Tries {
  readonly turn_id: string;
  readonly message: M;
}

/** A message that will be sent again, with the counts of its next turn. */
export interface PutAgain<M extends PayloadType = PayloadType> extends Tries {
  readonly message: M;
}

/**
 * Who can be asked: a subject, or the session itself for messages about no subject. It holds a turn, or waits for something and then gets its message
 * again, or neither.
 */
export interface Holder<M extends PayloadType = PayloadType> {
  readonly turn?: OpenTurn<M>;
  /** What it waits for: `RESUME`, or the id of a retry timer, an ask, checks or a child session. */
  readonly waits_for?: string;
  readonly put_again?: PutAgain<M>;
}

/** `waits_for` of a message that is sent again when the session is resumed. */
export const RESUME = "resume";

const RETRY = "retry:";

/** The id of the back-off timer of a subject, or of the session if `id` is absent. */
export function retryTimer(id: string | undefined): string {
  return RETRY + (id ?? "");
}

/** The subject whose back-off a timer ends, `undefined` for the session; `null` for another timer. */
export function retriedBy(timer_id: string): string | undefined | null {
  return timer_id.startsWith(RETRY) ? timer_id.slice(RETRY.length) || undefined : null;
}

/** `waits_for` of a holder that waits for a child session. */
export function waitingForSession(child: string): string {
  return `s${child}`;
}

/** The child session in `waits_for`; undefined if it names something else. */
export function sessionWaitedFor(waits_for: string | undefined): string | undefined {
  return waits_for?.startsWith("s") ? waits_for.slice(1) : undefined;
}

/** The prefix of the timers of the mode's own. */
export const MODE_TIMER = "timer:";

/** Whether `waits_for` names checks. */
export function waitsForChecks(waits_for: string | undefined): boolean {
  return waits_for?.startsWith("k") === true;
}

/** The commands that end what is waited for: a timer, checks, a child session, or else an ask. */
export function endWaiting(waits_for: string, reason: string): Command[] {
  if (waits_for === RESUME) return [];
  if (waits_for.startsWith(RETRY)) return [{ do: "clear_timer", timer_id: waits_for }];
  if (waitsForChecks(waits_for)) return [{ do: "drop_checks", check_id: waits_for }];
  const child = sessionWaitedFor(waits_for);
  return [child === undefined ? { do: "clear_ask", ask_id: waits_for } : { do: "withdraw_session", child, reason }];
}
