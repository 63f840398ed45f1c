import type { ChildProcess } from "node:child_process";
import { formatDuration } from "../../lib/durations.ts";
import { err, ok } from "../../lib/result.ts";
import { EXIT_DONE, EXIT_INTERNAL } from "../../runtime/exit.ts";
import type { Store } from "../../store/store.ts";
import { eventLine } from "../../ui/events.ts";
import { localize, tellNext } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { tellKilled, watchSignals } from "../context/signals.ts";
import { killGraceOf, openedWith } from "../lookup/state.ts";
import { isForPeople } from "../options/run-options.ts";
import { attend } from "./attendance.ts";
import { openViewer, type Viewer } from "./driver.ts";
import {
  letGo,
  type Order,
  PATIENCE_MS,
  type SchedulerMessage,
  startScheduler,
  whyNeverBegan,
} from "./scheduler-process.ts";

/**
 * Runs a session in its own process, in a new process session, so that it outlives this process and its terminal. Then shows the session here
 * until it ends, or detaches at once. Failures are the scheduler's own, `environment` if it cannot be started, and `storage` or
 * `storage_full` if its log cannot be written.
 */
export async function handOver(context: CommandContext, opened: OpenHome<Store>, order: Order): Promise<Exit> {
  const { home, store } = opened;
  const { session_id, runOptions } = order;
  const before = store.session(session_id);
  const known = before.ok ? before.value.last_sequence : 0;
  const isAttached = runOptions.scheduler === "attached";
  const leave = isAttached ? attend(home, session_id) : ok(() => {});
  if (!leave.ok) return leave;
  const started = startScheduler(context, home, order, PATIENCE_MS);
  if (!started.ok) {
    leave.value();
    return started;
  }
  const scheduler = started.value;
  const { child } = scheduler;
  const detached = new AbortController();
  let viewer: Viewer | undefined;
  const signals = watchSignals(
    {
      stop: (signal) => {
        child.kill(signal);
        viewer?.feed.stopping();
      },
      kill: () => {
        child.kill("SIGINT");
        tellKilled(context, session_id);
      },
    },
    context.leave,
    ["SIGINT"],
  );
  try {
    const answer = await scheduler.answer;
    const stopped = signals.exitCode();
    const isBegun = answer?.kind === "begun";
    const never = isBegun ? undefined : neverBegan(context, opened, order, answer, stopped);
    if (never) return never;
    if (isBegun && !isAttached && stopped === undefined) return detachFrom(child, context, home, order);
    viewer = await openViewer({
      ...{ context, home, store, session_id, first: known + 1 },
      reporter: runOptions.reporter,
      answers: runOptions.answers,
      inbox: isAttached ? store : undefined,
      left: () => scheduler.say({ kind: "left" }),
      detach: isAttached ? () => detached.abort() : undefined,
    });
    const { requirement, workspace = "" } = openedWith(store, session_id) ?? {};
    const about = { requirement, workspace, kill_grace_s: killGraceOf(store, session_id) };
    const elsewhere = { ctrl_c: "stops", skipped: 0 } as const;
    viewer.driver.begin({ ...about, resumed: order.do === "take_up", elsewhere }, known);
    const end = await viewer.follow(() => child.exitCode !== null || child.signalCode !== null, detached.signal);
    if (end === undefined) return detachFrom(child, context, home, order);
    const exited = (await scheduler.exited) ?? signals.exitCode() ?? EXIT_INTERNAL;
    return await viewer.driver.end(end, { exited, isTimed: true });
  } finally {
    viewer?.close();
    leave.value();
    signals.restore();
  }
}

/** The result if the scheduler did not begin; undefined if the session exists all the same and can be shown as it was left. */
function neverBegan(
  { terminal }: CommandContext,
  opened: OpenHome<Store>,
  order: Order,
  answer: SchedulerMessage | undefined,
  stopped: number | undefined,
): Exit | undefined {
  if (stopped === undefined || answer?.kind === "failed") {
    const why = whyNeverBegan(opened, order, answer);
    return why && err(why);
  }
  const { session_id } = order;
  const row = opened.store.session(session_id);
  const state = row.ok && row.value.last_sequence > 0 ? row.value.state : undefined;
  terminal.err.line(state ? `Stopped before ${session_id} continued.` : "Stopped before the session began.");
  // Resuming a closed session would only show it again.
  if (state && state !== "closed") terminal.err.line(`  ${localize(terminal.err, `bosun resume ${session_id}`)}`);
  return ok(stopped);
}

/** Leaves the session running, and says how to come back to it. */
function detachFrom(scheduler: ChildProcess, { terminal: { out } }: CommandContext, home: string, order: Order): Exit {
  const left = letGo(scheduler, home, order);
  const { session_id, pid, roles = [], outside = [] } = left;
  const { runOptions } = order;
  const next = [`bosun attach ${session_id}`, `bosun status ${session_id}`];
  if (runOptions.reporter === "json")
    out.line(eventLine({ type: "detached", ...left, next: next.map((command) => localize(out, command)) }));
  if (!isForPeople(runOptions.reporter)) return ok(EXIT_DONE);
  out.line(out.style("bold", `${session_id} is running (pid ${pid}).`));
  const seated = [
    ...(roles.length > 0 ? [`${roles.join(", ")}: ${roles.length === 1 ? "a role" : "roles"} here`] : []),
    ...(outside.length > 0 ? [`${outside.join(", ")}: ${outside.length === 1 ? "joins" : "join"} from outside`] : []),
  ];
  if (seated.length > 0) out.line(seated.join("; "));
  out.line(`If it needs you, it waits ${formatDuration(PATIENCE_MS)}, then stops; resume it any time.`);
  tellNext(out, ...next);
  return ok(EXIT_DONE);
}
