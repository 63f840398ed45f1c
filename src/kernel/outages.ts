import { type Instant, later, milliseconds } from "../protocol/timestamp.ts";
import type { LedgerHold, LedgerTurn } from "./ledger.ts";
import type { Fact } from "./mode.ts";
import { backoff } from "./step.ts";

/** The code of an outage: a provider, a program or the workspace is away, and comes back by itself. */
export const UNAVAILABLE = "unavailable";

/** Whether a fact reports that an outage ended its turn's run. */
export function isOutage({ turn, payload_type, payload }: Fact): boolean {
  return (
    turn !== undefined && (payload_type === "turn_failed" || payload_type === "error") && payload.code === UNAVAILABLE
  );
}

const FIRST_MS = 5_000;
const LONGEST_MS = 300_000;
/** An outage is tried again after this time, whatever it says: a clock may be wrong, and a try costs nothing. */
const LONGEST_TOLD_MS = 3_600_000;
/** A pause is longer by up to this share, which the turn's sequence and run decide, so that sessions do not all try again at once. */
const JITTER = 0.1;
const GOLDEN_RATIO = 0.618;

/** The pause before the next try of an outage, in ms. `tries` is the number of tries that failed before the last. */
export function outagePause(tries: number): number {
  return backoff(FIRST_MS, tries, LONGEST_MS);
}

/**
 * The hold of an outage after it has ended one more run, which says when it may be tried again, if it knows. The pauses double with each try, not with
 * each run: turns that fail together are one step. The beginning stays, and the end only becomes later.
 */
export function outageAfter(
  before: LedgerHold | undefined,
  { turn_id, run }: Pick<LedgerTurn, "turn_id" | "run">,
  at: Instant,
  retry_at: Instant | undefined,
) {
  const known = before?.reason === UNAVAILABLE ? before : undefined;
  const isStep = known === undefined || known.trying === true;
  const tries = (known?.tries ?? 0) + (isStep ? 1 : 0);
  const waits = !isStep && isLater(known.until ?? at, at);
  const share = (((Number.parseInt(turn_id.slice(1), 10) || 0) + run) * GOLDEN_RATIO) % 1;
  const pause = waits ? 0 : outagePause(tries - 1) * (1 + JITTER * share);
  const told = later(at, Math.min(milliseconds(retry_at ?? at) - milliseconds(at), LONGEST_TOLD_MS));
  const ends = [later(at, pause), known?.until ?? at, told];
  const until = ends.reduce((last, end) => (isLater(end, last) ? end : last));
  return { reason: UNAVAILABLE, since: known?.since ?? at, until, tries };
}

/** The hold while a turn tries whether the outage is over. Others follow one after the other until one has come through. */
export function whileTrying(hold: LedgerHold, at: Instant): LedgerHold {
  const soon = later(at, FIRST_MS);
  return { ...hold, trying: true, until: isLater(hold.until ?? at, soon) ? (hold.until ?? soon) : soon };
}

function isLater(one: Instant, other: Instant): boolean {
  return milliseconds(one) > milliseconds(other);
}
