import { formatDuration } from "../../lib/durations.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { EXIT_DONE, EXIT_INTERNAL } from "../../runtime/exit.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { safeJson } from "../../ui/display.ts";
import { localize, tellNext } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { tellKilled, watchSignals } from "../context/signals.ts";
import { killGraceOf } from "../lookup/state.ts";
import { attend } from "./attendance.ts";
import { reporterFor } from "./reporter-for.ts";
import type { Order, SchedulerMessage } from "./order.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";
import { lastWords, schedulerLog } from "./scheduler-log.ts";
import { startScheduler } from "./scheduler-process.ts";
import { Viewer } from "./viewer.ts";

/**
 * How long a scheduler of its own waits for somebody to come to a terminal when only a person can move its session, in ms: long
 * enough to notice and answer, too short to be forgotten.
 */
const PATIENCE_MS = 15 * 60_000;

/**
 * Has a session run by a process of its own, in a process session of its own, so that it outlives this one and its terminal. Then
 * shows it here to its end, or lets go at once. Failures are the scheduler's own, `environment` if it cannot be
 * started, and `storage` or `storage_full` if it has nowhere to put its words.
 */
export async function handOver(
  context: CommandContext,
  runtime: RuntimeEnvironment,
  order: Order,
): Promise<Result<number, Failure>> {
  const { home, store } = runtime;
  const { session_id, runOptions } = order;
  const before = store.session(session_id);
  const first = before.ok ? before.value.last_sequence + 1 : 1;
  const attached = runOptions.scheduler === "attached";
  const leave = attached ? attend(home, session_id) : ok(() => {});
  if (!leave.ok) return leave;
  const started = startScheduler(context, home, order, PATIENCE_MS);
  if (!started.ok) {
    leave.value();
    return started;
  }
  const scheduler = started.value;
  const reporter = reporterFor(runOptions, context);
  const viewer = new Viewer({
    context,
    home,
    store,
    inbox: attached ? store : undefined,
    session_id,
    reporter,
    first,
    left: () => scheduler.say({ kind: "left" }),
  });
  let begun = false;
  const signals = watchSignals(
    {
      stop: (signal) => {
        scheduler.signal(signal);
        if (begun) void viewer.stopping();
      },
      kill: () => {
        scheduler.signal("SIGINT");
        tellKilled(context, session_id);
      },
    },
    context.leave,
    ["SIGINT"],
  );
  try {
    // What is known already is shown while the scheduler gets up.
    if (attached) viewer.begin(openingOf(order, store, before), "stops");
    const answer = await scheduler.answer;
    begun = answer?.kind === "begun";
    const stopped = signals.exitCode();
    const never = begun ? undefined : neverBegan(context, runtime, order, answer, stopped);
    if (never) return never;
    if (begun && !attached && stopped === undefined) {
      scheduler.letGo();
      tellDetached(context, home, order, scheduler.pid);
      return ok(EXIT_DONE);
    }
    if (!attached) viewer.begin(openingOf(order, store, before), "stops");
    await viewer.watch(scheduler.isGone);
    const exit_code = await scheduler.exited;
    return await viewer.end(exit_code ?? signals.exitCode() ?? EXIT_INTERNAL);
  } finally {
    reporter.close();
    leave.value();
    signals.restore();
  }
}

function openingOf(
  order: Order,
  store: StoreReader,
  before: Result<SessionRow, Failure>,
): Parameters<Viewer["begin"]>[0] {
  if (order.do === "begin") {
    const { session, bundled_worker } = order.input;
    const { requirement, workspace, config } = session;
    return { requirement, workspace, resumed: false, kill_grace_s: config.kill_grace_s, bundled_worker };
  }
  const { requirement, workspace } = before.ok ? before.value : { requirement: null, workspace: "" };
  const kill_grace_s = killGraceOf(store, order.session_id);
  return { requirement: requirement ?? undefined, workspace, resumed: true, kill_grace_s };
}

/** How it ends if the session was not begun; undefined if it is there all the same, and can be shown as it was left. */
function neverBegan(
  { terminal }: CommandContext,
  { home, store }: RuntimeEnvironment,
  { session_id }: Order,
  answer: SchedulerMessage | undefined,
  stopped: number | undefined,
): Result<number, Failure> | undefined {
  if (answer?.kind === "failed") return err(answer.failure);
  const row = store.session(session_id);
  if (stopped !== undefined) {
    const state = row.ok && row.value.last_sequence > 0 ? row.value.state : undefined;
    terminal.err.line(state ? `Stopped before ${session_id} went on.` : "Stopped before the session began.");
    // What is closed is only shown again by that: whoever reopens it types the same as before.
    if (state && state !== "closed") terminal.err.line(`  ${localize(terminal.err, `bosun resume ${session_id}`)}`);
    return ok(stopped);
  }
  if (row.ok) return undefined;
  if (row.error.code !== "not_found") return row;
  const what = `The scheduler of ${session_id} ended before the session began${lastWords(home, session_id)}`;
  return err(failure("internal", what, { hint: "Run it in this process to see more: --foreground." }));
}

function tellDetached(
  { terminal: { out } }: CommandContext,
  home: string,
  order: Order,
  pid: number | undefined,
): void {
  const { session_id, runOptions } = order;
  const next = [`bosun attach ${session_id}`, `bosun status ${session_id}`];
  const log = schedulerLog(home, session_id);
  if (runOptions.reporter === "json")
    out.line(safeJson({ type: "detached", session_id, pid, log, next: next.map((command) => localize(out, command)) }));
  if (runOptions.reporter !== "plain") return;
  out.line(out.style("bold", `${session_id} is at work in process ${pid}.`));
  out.line(
    `When only a person can move it, it waits ${formatDuration(PATIENCE_MS)} for one, and then stops, to be resumed.`,
  );
  tellNext(out, ...next);
}
