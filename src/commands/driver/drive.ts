import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { liveFeed } from "../../runtime/feed/live.ts";
import { retelling } from "../../runtime/retelling.ts";
import type { Session } from "../../runtime/session.ts";
import type { CommandContext } from "../context/command.ts";
import { tellKilled, watchSignals } from "../context/signals.ts";
import { liveControl } from "../interaction/control.ts";
import type { RunOptions } from "../options/run-options.ts";
import { snapshotOf, storedSnapshot, withChildren } from "../presenters/ending.ts";
import { keptRecord } from "../../store/kept-record.ts";
import { recordAt } from "../lookup/state.ts";
import { Driver, type SessionOpening } from "./driver.ts";
import { type Patience, watchPatience } from "./patience.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";

/** What the caller knows about the session. */
type OpeningPart = Pick<SessionOpening, "resumed" | "kill_grace_s">;

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
  known: OpeningPart,
  patience?: Patience,
): Promise<Result<number, Failure>> {
  const { store, home } = runtime;
  const { session_id } = session;
  const row = store.session(session_id);
  if (!row.ok) return row;
  const { workspace, requirement, last_sequence } = row.value;
  const closed = session.ledger.figures.closed !== undefined;
  const { reporter, ask } = runOptions;
  const control = liveControl(session);
  const attended = () => ask || patience?.attended() === true;
  const feed = liveFeed(session);
  const driver = new Driver({
    context,
    home,
    store,
    feed,
    retell: retelling(recordAt(store, session_id, 1), session.mode, (one) => keptRecord(store, session_id, one)),
    control,
    reporter,
    ask,
    given: runOptions,
    attended,
  });
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
  const forget = patience && watchPatience(patience, session, driver.interaction, () => runtime.clock.now());
  try {
    const end = await session.run({ waitForPeople: !closed && (ask || patience !== undefined) });
    // After a failed commit, memory is ahead of the store.
    const snapshot = async () =>
      end.ok ? ok(await withChildren(store, snapshotOf(store, session))) : storedSnapshot(store, home, session_id);
    return await driver.end(end, snapshot, { isTimed: !closed });
  } finally {
    forget?.();
    driver.close();
    // A signal that arrives while the end is shown finds nothing to stop.
    signals.restore();
  }
}
