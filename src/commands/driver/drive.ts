import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import type { Session } from "../../runtime/session.ts";
import { formatDuration } from "../../lib/durations.ts";
import type { Ending, Opening, Reporter } from "../../ui/reporter.ts";
import { SAY_OF_LATER } from "../../ui/record-formatter.ts";
import { keptRecord, latestOf } from "../../store/kept-record.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { SessionRow } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import { tellKilled, watchSignals } from "../context/signals.ts";
import type { RunOptions } from "../options/run-options.ts";
import { stateOf } from "../lookup/state.ts";
import { ChildrenWatch } from "../presenters/children-waiting.ts";
import { buildEnding, snapshotOf, storedSnapshot, withChildren } from "../presenters/ending.ts";
import { workload } from "../../runtime/feed/standing.ts";
import { People } from "./people.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";
import { reporterFor } from "./reporter-for.ts";
import { watchPatience, type Watchers } from "./watchers.ts";

/** How often it is looked whether a child session waits for a person, in ms. */
const LOOK_EVERY_MS = 500;

/** What whoever has it run knows of a session. */
type OpeningPart = Pick<Opening, "resumed" | "kill_grace_s" | "bundled_worker">;

/**
 * Runs a session in this process to its end or stop, with its reporter, the people who answer and the signals that stop it. With
 * `watchers` it waits for people who are at other terminals. Must be called in the same turn of the event loop in which the session
 * was made, so that nothing it says is missed.
 */
export async function driveSession<S>(
  context: CommandContext,
  runtime: RuntimeEnvironment,
  session: Session<S>,
  runOptions: RunOptions,
  told: OpeningPart,
  watchers?: Watchers,
): Promise<Result<number, Failure>> {
  const { store } = runtime;
  const { session_id } = session;
  const reporter = reporterFor(runOptions, context);
  const row = store.session(session_id);
  if (!row.ok) return row;
  const began = performance.now();
  const people = new People({
    context,
    home: runtime.home,
    session,
    store,
    runOptions,
    attended: () => runOptions.ask || watchers?.attended() === true,
    tell: (waiting) => reporter.asked(waiting),
  });
  showBeginning(reporter, runtime, session, row.value, told);
  session.bus.subscribe((event) => reporter.event(event));
  session.bus.subscribe((event) => people.event(event));
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
  const forget = watchers && heed(watchers, runtime, session, people);
  const children = new ChildrenWatch(store, session_id, reporter);
  const look = () => void children.look().catch((error: unknown) => session.broken(error));
  const looking = runOptions.reporter === "silent" ? undefined : setInterval(look, LOOK_EVERY_MS);
  const end = await session.run({ waitForPeople: runOptions.ask || watchers !== undefined });
  forget?.();
  clearInterval(looking);
  await people.end();
  const left = await endingAfter(runtime, session, end, performance.now() - began);
  if (left.ok) {
    children.tell(left.value.children);
    reporter.end(left.value);
  }
  reporter.close();
  // Only now: a signal that comes while the end is being told finds nothing to stop.
  signals.restore();
  if (left.ok) return ok(left.value.exit_code);
  // What failed first is the reason; that it cannot be read any more what came of it only follows.
  return end.ok ? left : end;
}

/** Shows what the session is about, and what earlier records say of later ones. */
function showBeginning<S>(
  reporter: Reporter,
  runtime: RuntimeEnvironment,
  session: Session<S>,
  row: SessionRow,
  told: OpeningPart,
): void {
  const { store, home, version } = runtime;
  const { session_id } = session;
  if (told.resumed && reporter.earlier) {
    // The opening says who shares an account, the latest records who is held.
    reporter.earlier(keptRecord(store, session_id, 1));
    for (const record of latestOf(store, row, SAY_OF_LATER)) reporter.earlier(record);
  }
  reporter.begin({
    session_id,
    version,
    requirement: row.requirement ?? undefined,
    workspace: row.workspace,
    output: sessionPaths(home, session_id).output,
    ...told,
    now: () => ({
      state: stateOf(store, session_id),
      counts: session.view().counts,
      turns: session.ledger.figures.turns,
      waiting: session.ledger.asks.size,
      ...workload(session.ledger.turns.values(), session.ledger.checks.values(), session.ledger.holds.values()),
    }),
  });
}

/** How the session was left, for whoever is shown it. */
async function endingAfter<S>(
  { store, home }: RuntimeEnvironment,
  session: Session<S>,
  end: Result<SessionEnd, Failure>,
  elapsed_ms: number,
): Promise<Result<Ending, Failure>> {
  const snapshot = await catchStorage(async () => {
    // After a commit that failed, memory is ahead of what there is.
    if (!end.ok) return storedSnapshot(store, home, session.session_id);
    return ok(await withChildren(store, snapshotOf(store, session)));
  });
  return snapshot.ok ? ok(buildEnding(home, snapshot.value, { end, elapsed_ms })) : snapshot;
}

/** Tells those who watch that the session runs, and stops it as `waiting` when none of them is going to say the word it needs. */
function heed<S>(
  watchers: Watchers,
  { clock }: RuntimeEnvironment,
  session: Session<S>,
  people: People<S>,
): () => void {
  const deaf = session.bus.subscribe(({ kind }) => {
    if (kind !== "record") return;
    deaf();
    watchers.begun();
  });
  watchers.onLeft(() => session.stop("waiting", "a person left a question open"));
  return watchPatience(
    session,
    watchers,
    () => clock.now(),
    () => {
      if (people.answerAlone()) return;
      session.stop("waiting", `nobody has come to a terminal for ${formatDuration(watchers.patience_ms)}`);
    },
  );
}
