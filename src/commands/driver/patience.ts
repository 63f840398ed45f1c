import { formatDuration } from "../../lib/durations.ts";
import type { Ledger, LedgerTurn } from "../../kernel/ledger.ts";
import { waitsForPermission } from "../../kernel/permissions.ts";
import { type Instant, milliseconds } from "../../protocol/timestamp.ts";
import type { Session } from "../../runtime/session.ts";
import type { Interaction } from "../interaction/interaction.ts";

/** How a scheduler in its own process waits for people at other terminals. */
export interface Patience {
  /** Called once, when the session is on record and runs. */
  readonly begun: () => void;
  /** Whether a person is at a terminal where the session's questions are asked. */
  readonly attended: () => boolean;
  /** Calls back when the person who began the session leaves its questions open. */
  readonly onLeft: (left: () => void) => void;
  /** How long to wait for a person when only a person can move the session, in ms. */
  readonly patience_ms: number;
}

/** How often to poll whether a person has come, in ms. */
const LOOK_EVERY_MS = 500;

/**
 * Stops the session as `waiting` when only a person could move it, nobody was there for `patience_ms`, and nothing was said beforehand
 * for that case; or when the person who began it leaves its questions open. The returned function ends the watch.
 */
export function watchPatience<S>(
  { begun, attended, onLeft, patience_ms }: Patience,
  session: Session<S>,
  interaction: Pick<Interaction, "answerAlone">,
  now: () => Instant,
): () => void {
  const ignore = session.bus.subscribe(({ kind }) => {
    if (kind !== "record") return;
    ignore();
    begun();
  });
  onLeft(() => session.stop("waiting", "a person left a question open"));
  const giveUp = async () => {
    if (await interaction.answerAlone()) return;
    session.stop("waiting", `nobody came to a terminal for ${formatDuration(patience_ms)}`);
  };
  let since = performance.now();
  const timer = setInterval(() => {
    if (!onlyAPersonMoves(session.ledger, now()) || attended()) since = performance.now();
    else if (performance.now() - since >= patience_ms) {
      since = performance.now();
      giveUp().catch((error: unknown) => session.broken(error));
    }
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

/** Whether nothing runs and nothing will begin by itself. */
function onlyAPersonMoves(ledger: Ledger, now: Instant): boolean {
  const { asks, holds, turns, checks, timers, figures } = ledger;
  const held = [...holds.values()];
  const needed = figures.paused === true || asks.size > 0 || held.some(({ until }) => until === undefined);
  if (!needed || checks.size > 0) return false;
  const isAtWork = ({ turn_id, status }: LedgerTurn) => status === "open" && !waitsForPermission(ledger, turn_id);
  if ([...turns.values()].some(isAtWork)) return false;
  if (figures.paused === true) return true;
  for (const timer of timers.values()) if (timer.passive !== true) return false;
  return !held.some(({ until }) => until !== undefined && milliseconds(until) > milliseconds(now));
}
