import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, EXIT_PERSON_NEEDED } from "../runtime/exit.ts";
import type { Store, StoreReader } from "../store/store.ts";
import { promptChoice } from "../ui/choices.ts";
import { clipped } from "../ui/display.ts";
import { localize } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { homeOf } from "./context/home.ts";
import { watchSignals } from "./context/signals.ts";
import {
  addReporterOptions,
  isForPeople,
  type RunOptions,
  readRunOptions,
  type ReporterOptions,
} from "./options/run-options.ts";
import { attend } from "./driver/attendance.ts";
import { openViewer, type Viewer } from "./driver/driver.ts";
import { type Found, lookInto, openHomeOf, readHomeOf, withSession } from "./lookup/homes.ts";
import { ANY_SESSION, runningSessions, WATCH } from "./lookup/resolve.ts";

/** Maximum number of earlier records shown to a person. */
const PAST_SHOWN = 30;

/** `bosun attach`: shows a session that another process runs, and asks its questions, as `run` does. */
export function register(command: Command): Action<ReporterOptions> {
  command.argument(...ANY_SESSION);
  addReporterOptions(command, "never ask at this terminal");
  return async (context, [named], options) => {
    const runOptions = await readRunOptions(context, options);
    if (!runOptions.ok) return runOptions;
    const { reporter, ask } = runOptions.value;
    const chosen = ask && isForPeople(reporter) && named === undefined ? await chooseRunning(context) : named;
    // Answers are written to the inbox; without them, the home is opened for reading only.
    if (ask && isForPeople(reporter)) {
      return withSession(openHomeOf, context, chosen, WATCH, (found) => show(context, found, found.store, reporter));
    }
    return withSession(readHomeOf, context, chosen, WATCH, (found) => show(context, found, undefined, reporter));
  };
}

/** The one of several running sessions of this home that the person at this terminal wants; undefined if there is nothing to choose, or they left. */
async function chooseRunning(context: CommandContext): Promise<string | undefined> {
  const home = homeOf(context);
  const running = home.ok ? await lookInto(context, home.value, async (store) => runningSessions(store)) : home;
  if (!running.ok || running.value.length < 2) return undefined;
  const choices = running.value.map(({ session_id, requirement }) => {
    return { key: session_id, label: clipped(`${session_id}  ${requirement ?? ""}`, context.terminal.err.width - 5) };
  });
  return promptChoice(context.terminal, "Which session?", choices, new AbortController().signal);
}

async function show(
  context: CommandContext,
  { home, store, row, session_id }: Found<StoreReader>,
  inbox: Store | undefined,
  reporter: RunOptions["reporter"],
): Promise<Exit> {
  const { terminal } = context;
  const isGone = () => store.holder(session_id) === undefined;
  const live = !isGone();
  const leave = inbox && live ? attend(home, session_id) : ok(() => {});
  if (!leave.ok) return leave;
  const enough = new AbortController();
  const stop = () => enough.abort(EXIT_INTERRUPTED);
  const signals = watchSignals({ stop }, context.leave, ["SIGINT"]);
  let viewer: Viewer | undefined;
  try {
    // A person sees the latest records of a running session, but none of any other: only how it was left. The dashboard shows the state.
    const past = live && reporter !== "tui" ? PAST_SHOWN : 0;
    const first = reporter === "json" ? 1 : Math.max(1, row.last_sequence - past + 1);
    const left = () => enough.abort(EXIT_PERSON_NEEDED);
    const detach = () => enough.abort(EXIT_DONE);
    const shown = { context, home, store, session_id, reporter, first, joins: true };
    viewer = await openViewer({ ...shown, inbox: live ? inbox : undefined, left, detach });
    const { requirement, workspace } = row;
    const skipped = first - 1;
    const elsewhere = live ? { elsewhere: { ctrl_c: "detaches", skipped } as const } : {};
    viewer.driver.begin(
      { requirement: requirement ?? undefined, workspace, resumed: false, kill_grace_s: 0, ...elsewhere },
      skipped,
    );
    const end = await viewer.follow(isGone, AbortSignal.any([enough.signal, terminal.out.ended]));
    if (end === undefined) {
      const code = enough.signal.aborted ? (enough.signal.reason as number) : EXIT_INTERRUPTED;
      tellDetached(context, session_id, code === EXIT_PERSON_NEEDED);
      return ok(code);
    }
    if (!live && row.state !== "closed") terminal.err.line(`${session_id} is not running. This is how it was left:`);
    return await viewer.driver.end(end, { isTimed: false });
  } finally {
    viewer?.close();
    leave.value();
    signals.restore();
  }
}

function tellDetached({ terminal: { err } }: CommandContext, session_id: string, left: boolean): void {
  err.line(`${left ? "The question stays open." : "Detached."} ${session_id} continues to run.`);
  const next = [
    `  back    bosun attach ${session_id}`,
    left ? `  answer  bosun answer ${session_id}` : `  stop    bosun stop ${session_id}`,
    `  end it  bosun cancel ${session_id}`,
  ];
  for (const line of next) err.line(localize(err, line));
}
