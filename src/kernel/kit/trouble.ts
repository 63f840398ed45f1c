import { howOften } from "../../lib/how-often.ts";
import type { Json } from "../../lib/json.ts";
import { type Failure, NOT_RETRIED } from "../../protocol/failure.ts";
import { refusalFrom } from "../../protocol/refusal.ts";
import { backoff } from "../step.ts";
import type { Draft } from "./draft.ts";
import { type Holders, type OpenTurn, type PutAgain, putAgainLater, RESUME, retryLater } from "./holder.ts";
import type { Kit } from "./rules.ts";
import type { Self, Subject } from "./state.ts";

/** Refuses an answer, and sends the same message again with the reason, which counts as a retry. */
export function refuseAnswer<S extends Self, U extends Subject>(
  kit: Kit<S, U>,
  draft: Draft<S, U>,
  id: string | undefined,
  turn: OpenTurn,
  why: Failure,
): void {
  const refused = [{ ...refusalFrom(draft.fact.payload_type, why) }];
  draft.out.refuse(why);
  if (turn.retries < retriesOf(kit, draft, id)) draft.offer(id, { ...turn, retries: turn.retries + 1, refused });
  else retriesSpent(kit, draft, id, turn, why.code, refused);
}

/** Handles a failed turn: sends the same message again after a back-off, while retries are left. */
export function setBack<S extends Self, U extends Subject>(
  kit: Kit<S, U>,
  draft: Draft<S, U>,
  id: string | undefined,
  turn: PutAgain,
  code: string,
  refused: readonly Json[] = [],
): void {
  if (turn.retries >= retriesOf(kit, draft, id) || NOT_RETRIED.has(code))
    return retriesSpent(kit, draft, id, turn, code, refused);
  if (id !== undefined) draft.move(id, kit.descriptor.events.failed, code);
  const delay_ms = backoff(draft.self.retry_backoff_ms, turn.retries);
  retryLater(draft, id, { ...turn, retries: turn.retries + 1, refused }, delay_ms);
}

/** Without its own seat the session cannot go on: it stops, and resuming it asks again. What a spent subject means is the mode's. */
function retriesSpent<S extends Self, U extends Subject>(
  { descriptor, rules }: Kit<S, U>,
  draft: Draft<S, U>,
  id: string | undefined,
  turn: PutAgain,
  code: string,
  refused: readonly Json[],
): void {
  const one = draft.subject(id);
  if (one && rules.spent) return rules.spent(draft, one, code);
  if (one) return draft.move(one.id, descriptor.events.left, code);
  if (refused.length > 0 && rules.seatSpent) return rules.seatSpent(draft, code);
  const { role_id = "" } = rules.seat(draft.self, undefined).seat;
  stopFor(draft, undefined, { ...turn, refused }, code, `the ${descriptor.seat ?? descriptor.name} ${role_id}`);
}

/** Stops a session that cannot go on without the answer to a message. Resuming it sends the message again. */
export function stopFor(
  holders: Holders,
  id: string | undefined,
  message: PutAgain,
  code: string,
  who: string,
  on = "",
): void {
  putAgainLater(holders, id, RESUME, { ...message, retries: 0 });
  const tail = message.retries === 0 ? `with ${code}` : `the last time with ${code}`;
  const why = `${who} failed ${howOften(message.retries + 1)}${on}, ${tail}`;
  holders.out.command({ do: "stop_session", reason: "manager_failed", message: why });
}

function retriesOf<S extends Self, U extends Subject>(
  { rules }: Kit<S, U>,
  draft: Draft<S, U>,
  id: string | undefined,
): number {
  return rules.retries?.(draft.self, draft.subject(id)) ?? draft.self.max_retries;
}
