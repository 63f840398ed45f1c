import { waitsForOutsiders } from "../../kernel/kit/holder.ts";
import type { Ledger, LedgerTurn } from "../../kernel/ledger.ts";
import { waitsForPermission } from "../../kernel/permissions.ts";
import { formatDuration } from "../../lib/durations.ts";
import { type Instant, milliseconds } from "../../protocol/timestamp.ts";
import { liveFeed } from "../../runtime/feed/live.ts";
import { retelling } from "../../runtime/retelling.ts";
import type { Session } from "../../runtime/session.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { tellKilled, watchSignals } from "../context/signals.ts";
import { type Interaction, liveControl } from "../interaction/interaction.ts";
import type { RunOptions } from "../options/run-options.ts";
import { keptRecord } from "../../store/kept-record.ts";
import { recordAt } from "../lookup/state.ts";
import { isAttended } from "./attendance.ts";
import { Driver, type SessionOpening } from "./driver.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";

/** How a scheduler in its own process waits for people at other terminals. */
export interface Patience {
  /** Called once, when the session is on record and runs. */
  readonly begun: () => void;
  /** Calls back when the person who began the session leaves its questions open. */
  readonly onLeft: (left: () => void) => void;
  /** How long to wait for a person when only a person can move the session, in ms. */
  readonly patience_ms: number;
}

/**
 * Runs a session in this process until it ends or stops, with its reporter, the people who answer, and the signals that stop it. With
 * `patience`, waits for people at other terminals. A closed session is only shown; people who were not notified of its end are notified now.
 * Call it in the same turn of the event loop in which the session was created, so that no event is missed. Fails as `Session.run` does.
 */
export async function driveSession<S>(
  context: CommandContext,
  runtime: RuntimeEnvironment,
  session: Session<S>,
  runOptions: RunOptions,
  known: Pick<SessionOpening, "resumed" | "kill_grace_s">,
  patience?: Patience,
): Promise<Exit> {
  const { store, home } = runtime;
  const { session_id } = session;
  const row = store.session(session_id);
  if (!row.ok) return row;
  const { workspace, requirement, last_sequence } = row.value;
  const closed = session.ledger.figures.closed !== undefined;
  const { reporter, ask } = runOptions;
  const attended = () => ask || (patience !== undefined && isAttended(home, session_id));
  // A process that handed the session over shows what of its answers was not used.
  const answers = patience === undefined ? runOptions.answers : [];
  const retell = retelling(recordAt(store, session_id, 1), session.engine.mode, (one) =>
    keptRecord(store, session_id, one),
  );
  const reached = { feed: liveFeed(session), control: liveControl(session), retell };
  const driver = new Driver({ context, home, store, ...reached, reporter, ask, given: runOptions, answers, attended });
  driver.begin(
    { ...known, requirement: requirement ?? undefined, workspace, closed },
    known.resumed && !closed ? last_sequence : 0,
  );
  const signals = watchSignals(
    {
      stop: (signal) => session.stop("signal", `stopped by ${signal}`, { signal }),
      kill: () => {
        runtime.killAll();
        tellKilled(context, session_id);
      },
    },
    context.leave,
  );
  const forget = patience && watchPatience(patience, session, driver.interaction, attended, () => runtime.clock.now());
  try {
    const end = await session.run({ waitForPeople: !closed && (ask || patience !== undefined) });
    return await driver.end(end, { isTimed: !closed });
  } finally {
    forget?.();
    driver.close();
    // A signal that arrives while the end is shown finds nothing to stop.
    signals.restore();
  }
}

/** How often to poll whether a person has come, in ms. */
const LOOK_EVERY_MS = 500;

/**
 * Stops the session as `waiting` when only a person could move it, nobody was there for `patience_ms`, and nothing was said beforehand
 * for that case; or when the person who began it leaves its questions open. The returned function ends the watch.
 */
function watchPatience<S>(
  { begun, onLeft, patience_ms }: Patience,
  session: Session<S>,
  interaction: Pick<Interaction, "answerAlone">,
  attended: () => boolean,
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
  const needed =
    figures.paused === true ||
    asks.size > 0 ||
    held.some(({ until }) => until === undefined) ||
    waitsForOutsiders(ledger);
  if (!needed || checks.size > 0) return false;
  const isAtWork = ({ turn_id, status }: LedgerTurn) => status === "open" && !waitsForPermission(ledger, turn_id);
  if ([...turns.values()].some(isAtWork)) return false;
  if (figures.paused === true) return true;
  for (const timer of timers.values()) if (timer.passive !== true) return false;
  return !held.some(({ until }) => until !== undefined && milliseconds(until) > milliseconds(now));
}
