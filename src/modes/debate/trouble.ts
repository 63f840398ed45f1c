import { backoff } from "../../kernel/step.ts";
import { howOften } from "../../lib/how-often.ts";
import type { Json } from "../../lib/json.ts";
import { type Failure, NOT_RETRIED } from "../../protocol/failure.ts";
import { refusalFrom } from "../../protocol/refusal.ts";
import { type Draft, retryTimer } from "./draft.ts";
import { finish } from "./finish.ts";
import { endRound } from "./rounds.ts";
import type { OpenTurn } from "./state.ts";

/** Refuses an answer, and sends the same message again with the reason, which counts as a retry. */
export function refuseAnswer(draft: Draft, id: string | undefined, turn: OpenTurn, why: Failure): void {
  const refused = { ...refusalFrom(draft.fact.payload_type, why) };
  draft.refuse(why);
  if (turn.retries < draft.debate.max_retries) draft.offer(id, { retries: turn.retries + 1, refused: [refused] });
  else retriesSpent(draft, id, turn, why.code, [refused]);
}

/** Handles a failed turn: sends the same message again after a back-off, while retries are left. */
export function setBack(
  draft: Draft,
  id: string | undefined,
  turn: OpenTurn,
  code: string,
  refused: readonly Json[] = [],
): void {
  const { max_retries, retry_backoff_ms } = draft.debate;
  if (turn.retries >= max_retries || NOT_RETRIED.has(code)) {
    retriesSpent(draft, id, turn, code, refused);
    return;
  }
  if (id !== undefined) draft.move(id, "set_back", code);
  draft.patchAsked(id, {
    put_again: { waits_for: "timer", retries: turn.retries + 1, ...(refused.length > 0 ? { refused } : {}) },
  });
  draft.setTimer(retryTimer(id), backoff(retry_backoff_ms, turn.retries));
}

/** Drops a debater, so that the others can continue. Without a judge the debate cannot end: it stops, and resuming it asks the judge again. */
function retriesSpent(
  draft: Draft,
  id: string | undefined,
  turn: OpenTurn,
  code: string,
  refused: readonly Json[],
): void {
  if (id !== undefined) {
    drop(draft, id, code);
    return;
  }
  draft.patchJudge({ put_again: { waits_for: "resume", retries: 0, ...(refused.length > 0 ? { refused } : {}) } });
  const tail = turn.retries === 0 ? `with ${code}` : `the last time with ${code}`;
  draft.command({
    do: "stop_session",
    reason: "manager_failed",
    message: `the judge ${draft.debate.judge.role_id} failed ${howOften(turn.retries + 1)}, ${tail}`,
  });
}

/** Drops a debater for good; its opinions stay. If no debater is left to argue, the debate has failed. */
export function drop(draft: Draft, id: string, reason: string): void {
  draft.withdraw(id, reason);
  draft.move(id, "dropped", reason);
  if (draft.debate.argued_by === undefined && draft.seated().length === 0) finish(draft, "failed", "no_debaters_left");
  else endRound(draft);
}
