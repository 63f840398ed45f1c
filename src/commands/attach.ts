import type { Command } from "commander";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { EXIT_INTERRUPTED, EXIT_PERSON_NEEDED } from "../runtime/exit.ts";
import type { SessionRow, Store, StoreReader } from "../store/store.ts";
import { localize } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { type OpenHome, openExistingHome, readHome, withHome } from "./context/home.ts";
import { watchSignals } from "./context/signals.ts";
import { addReporterOptions, type RunOptions, readRunOptions, type ReporterOptions } from "./options/run-options.ts";
import { attend } from "./driver/attendance.ts";
import { reporterFor } from "./driver/reporter-for.ts";
import { Viewer } from "./driver/viewer.ts";
import { ANY_SESSION, resolveSession, SHOW } from "./lookup/resolve.ts";

/** How many of the latest records a person is shown of what was before. */
const PAST_SHOWN = 30;

/** `bosun attach`: shows a session that another process runs, as `run` shows it, and asks what it asks. */
export function register(command: Command, run: Run): void {
  command.argument(...ANY_SESSION);
  addReporterOptions(command, "never ask at this terminal");
  command.action((named: string | undefined, options: ReporterOptions) =>
    run((context) => attach(context, named, options)),
  );
}

async function attach(
  context: CommandContext,
  named: string | undefined,
  options: ReporterOptions,
): Promise<Result<number, Failure>> {
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const { reporter, ask } = runOptions.value;
  // Only who asks writes: answers, to the inbox.
  if (ask && reporter === "plain") {
    return withHome(openExistingHome(context), (home) => show(context, home, home.store, named, reporter));
  }
  return withHome(readHome(context), (home) => show(context, home, undefined, named, reporter));
}

async function show(
  context: CommandContext,
  { home, store }: OpenHome<StoreReader>,
  inbox: Store | undefined,
  named: string | undefined,
  reporter: RunOptions["reporter"],
): Promise<Result<number, Failure>> {
  const chosen = resolveSession(store, named, SHOW);
  if (!chosen.ok) return chosen;
  const row = chosen.value;
  const { session_id } = row;
  const { terminal } = context;
  const isGone = () => store.holder(session_id) === undefined;
  const live = !isGone();
  const leave = inbox && live ? attend(home, session_id) : ok(() => {});
  if (!leave.ok) return leave;
  const enough = new AbortController();
  let left = false;
  const shown = reporterFor({ reporter }, context);
  const viewer = new Viewer({
    context,
    home,
    store,
    inbox: live ? inbox : undefined,
    session_id,
    reporter: shown,
    first: reporter === "json" ? 1 : firstShown(row, live),
    left: () => {
      left = true;
      enough.abort();
    },
  });
  const signals = watchSignals({ stop: () => enough.abort(), kill: () => {} }, context.leave, ["SIGINT"]);
  try {
    const { requirement, workspace } = row;
    const opening = { requirement: requirement ?? undefined, workspace, resumed: false, kill_grace_s: 0 };
    await viewer.findUnderWay();
    viewer.begin(opening, live ? "detaches" : undefined);
    const detached = AbortSignal.any([enough.signal, terminal.out.ended]);
    await viewer.watch(isGone, detached);
    if (detached.aborted && !isGone()) {
      tellDetached(context, session_id, left);
      return ok(left ? EXIT_PERSON_NEEDED : EXIT_INTERRUPTED);
    }
    if (!live && row.state !== "closed") terminal.err.line(`Nobody runs ${session_id} now. This is how it was left:`);
    return await viewer.end();
  } finally {
    shown.close();
    leave.value();
    signals.restore();
  }
}

/** Of a session that nobody runs a person is shown how it was left, and no more. */
function firstShown({ last_sequence }: SessionRow, live: boolean): number {
  return live ? Math.max(1, last_sequence - PAST_SHOWN + 1) : last_sequence + 1;
}

function tellDetached({ terminal: { err } }: CommandContext, session_id: string, left: boolean): void {
  err.line(
    `${left ? "The question stays open, and" : "This terminal is detached, and"} ${session_id} goes on without it.`,
  );
  const next = [
    `  back    bosun attach ${session_id}`,
    left ? `  answer  bosun answer ${session_id}` : `  stop    bosun stop ${session_id}`,
    `  end it  bosun cancel ${session_id}`,
  ];
  for (const line of next) err.line(localize(err, line));
}
