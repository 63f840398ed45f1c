import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { Session } from "../../runtime/session.ts";
import { formatDuration } from "../../lib/durations.ts";
import { jsonReporter } from "../../ui/json.ts";
import { plainReporter } from "../../ui/plain.ts";
import type { Opening, Reporter } from "../../ui/reporter.ts";
import { silentReporter } from "../../ui/silent.ts";
import { SAY_OF_LATER } from "../../ui/teller.ts";
import { keptRecord } from "../../store/kept-record.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { CommandContext } from "../call/command.ts";
import { tellKilled, watchSignals } from "../call/signals.ts";
import type { Manner } from "../input/manner.ts";
import { latestOf, stateOf } from "../session/state.ts";
import { ChildrenWatch } from "../shown/children-waiting.ts";
import { endingOf, lastStandOf, storedStand, withChildren } from "../shown/leaving.ts";
import { underWay } from "../shown/under-way.ts";
import { People } from "./people.ts";
import type { Place } from "./place.ts";
import { watchPatience, type Watchers } from "./watchers.ts";

/** How often it is looked whether a child session waits for a person, in ms. */
const LOOK_EVERY_MS = 500;

/**
 * Runs a session in this process to its end or stop, with its reporter, the people who answer and the signals that stop it. With
 * `watchers` it waits for people who are at other terminals. Must be called in the same turn of the event loop in which the session
 * was made, so that nothing it says is missed.
 */
export async function driveSession<S>(
  context: CommandContext,
  place: Place,
  session: Session<S>,
  manner: Manner,
  told: Pick<Opening, "resumed" | "kill_grace_s" | "bundled_worker">,
  watchers?: Watchers,
): Promise<Result<number, Failure>> {
  const { store } = place;
  const { session_id } = session;
  const reporter = reporterFor(manner, context);
  const row = store.session(session_id);
  if (!row.ok) return row;
  const began = performance.now();
  const people = new People({
    context,
    home: place.home,
    session,
    store,
    manner,
    attended: () => manner.ask || watchers?.attended() === true,
    tell: (waiting) => reporter.asked(waiting),
  });
  if (told.resumed && reporter.earlier) {
    // The opening says who shares an account, the latest records who is held.
    reporter.earlier(keptRecord(store, session_id, 1));
    for (const record of latestOf(store, row.value, SAY_OF_LATER)) reporter.earlier(record);
  }
  reporter.begin({
    session_id,
    version: place.version,
    requirement: row.value.requirement ?? undefined,
    workspace: row.value.workspace,
    output: sessionPaths(place.home, session_id).output,
    ...told,
    now: () => ({
      state: stateOf(store, session_id),
      counts: session.view().counts,
      turns: session.ledger.figures.turns,
      waiting: session.ledger.asks.size,
      ...underWay(session.ledger.turns.values(), session.ledger.checks.values(), session.ledger.holds.values()),
    }),
  });
  session.bus.subscribe((event) => reporter.event(event));
  session.bus.subscribe((event) => people.event(event));
  const signals = watchSignals(
    {
      stop: (signal) => session.stop("signal", `stopped by ${signal}`, { signal }),
      kill: () => {
        place.killAll();
        tellKilled(context, session_id);
      },
    },
    context.leave,
  );
  const forget = watchers && heed(watchers, place, session, people);
  const children = new ChildrenWatch(store, session_id, reporter);
  const look = () => void children.look().catch((error: unknown) => session.broken(error));
  const looking = manner.reporter === "silent" ? undefined : setInterval(look, LOOK_EVERY_MS);
  const end = await session.run({ waitForPeople: manner.ask || watchers !== undefined });
  forget?.();
  clearInterval(looking);
  await people.end();
  const elapsed_ms = performance.now() - began;
  const stand = await catchStorage(async () => {
    // After a commit that failed, memory is ahead of what there is.
    if (!end.ok) return storedStand(store, place.home, session_id);
    return ok(await withChildren(store, lastStandOf(store, session)));
  });
  const left = stand.ok ? ok(endingOf(context.bosun, place.home, stand.value, { end, elapsed_ms })) : stand;
  if (left.ok) {
    children.tell(left.value.children);
    reporter.end(left.value);
  }
  // Only now: a signal that comes while the end is being told finds nothing to stop.
  signals.restore();
  if (left.ok) return ok(left.value.exit_code);
  // What failed first is the reason; that it cannot be read any more what came of it only follows.
  return end.ok ? left : end;
}

/** Tells those who watch that the session runs, and stops it as `waiting` when none of them is going to say the word it needs. */
function heed<S>(watchers: Watchers, { clock }: Place, session: Session<S>, people: People<S>): () => void {
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

/** The reporter that was asked for. */
export function reporterFor({ reporter }: Pick<Manner, "reporter">, { terminal, bosun }: CommandContext): Reporter {
  switch (reporter) {
    case "json":
      return jsonReporter(terminal.out);
    case "silent":
      return silentReporter(terminal, bosun);
    case "plain":
      return plainReporter(terminal, bosun);
  }
}
