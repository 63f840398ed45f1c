import type { Ledger } from "../../kernel/ledger.ts";
import type { Session } from "../../runtime/session.ts";
import { milliseconds, type Instant } from "../../protocol/timestamp.ts";

/** Those who watch a session from other processes, as its scheduler knows them. */
export interface Watchers {
  /** Told once, when the session is on record and runs. */
  readonly begun: () => void;
  /** Whether any of them sits at a terminal where the session's questions are asked. */
  readonly attended: () => boolean;
  /** Calls back when the person who had the session begun leaves its questions open. */
  readonly onLeft: (left: () => void) => void;
  /** How long to wait for somebody to come when only a person can move the session, in ms. */
  readonly patience_ms: number;
}

/** How often it is looked whether somebody has come, in ms. */
const LOOK_EVERY_MS = 500;

/**
 * Calls `forsaken` when for so long only a person could move the session and none was there; again after as long if it changed
 * nothing. The returned function ends the watch.
 */
export function watchPatience<S>(
  session: Session<S>,
  { attended, patience_ms }: Watchers,
  now: () => Instant,
  forsaken: () => void,
): () => void {
  let since = performance.now();
  const timer = setInterval(() => {
    if (!onlyAPersonMoves(session.ledger, now()) || attended()) since = performance.now();
    else if (performance.now() - since >= patience_ms) {
      since = performance.now();
      forsaken();
    }
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

/** Whether nothing runs and nothing will begin by itself: what is open waits for a person's word. */
function onlyAPersonMoves({ asks, holds, turns, checks, timers, figures }: Ledger, now: Instant): boolean {
  const held = [...holds.values()];
  const needed = figures.paused === true || asks.size > 0 || held.some(({ until }) => until === undefined);
  if (!needed || checks.size > 0) return false;
  for (const turn of turns.values()) if (turn.status === "open") return false;
  if (figures.paused === true) return true;
  for (const timer of timers.values()) if (timer.passive !== true) return false;
  return !held.some(({ until }) => until !== undefined && milliseconds(until) > milliseconds(now));
}
