import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "../lib/json.ts";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { SessionEnd } from "../runtime/bus.ts";
import { usageOf } from "../runtime/closing.ts";
import { exitCodeOf } from "../runtime/exit.ts";
import { sessionPaths } from "../runtime/paths.ts";
import type { Session } from "../runtime/session.ts";
import { jsonReporter } from "../ui/json.ts";
import { plainReporter } from "../ui/plain.ts";
import type { Ending, Reporter } from "../ui/reporter.ts";
import { silentReporter } from "../ui/silent.ts";
import type { Terminal } from "../ui/terminal.ts";
import type { Waiting } from "../ui/waiting.ts";
import type { CommandContext } from "./command.ts";
import { EXIT_CODE_OF } from "./exit-code.ts";
import type { Manner } from "./manner.ts";
import { nextSteps } from "./next.ts";
import { People } from "./people.ts";
import { watchSignals } from "./signals.ts";
import type { Place } from "./surroundings.ts";
import { finalReport, ticketLines } from "./tickets.ts";

/**
 * Runs a session in this process to its end or stop, with its reporter, the people who answer and the signals that stop it, and
 * closes the store. Must be called in the same turn of the event loop in which the session was made, so that nothing it says is missed.
 */
export async function driveSession<S>(
  context: CommandContext,
  place: Place,
  session: Session<S>,
  manner: Manner,
  resumed: boolean,
): Promise<Result<number, Failure>> {
  const { store } = place;
  const { session_id } = session;
  const reporter = reporterFor(manner, context.terminal);
  const row = store.session(session_id);
  if (!row.ok) return row;
  const began = performance.now();
  const people = new People({
    context,
    home: place.home,
    session,
    store,
    manner,
    tell: (waiting) => reporter.asked(waiting),
  });
  reporter.begin({
    session_id,
    version: place.version,
    requirement: row.value.requirement ?? undefined,
    workspace: row.value.workspace,
    resumed,
    kill_grace_s: manner.kill_grace_s,
    now: () => ({
      state: session.view().state,
      counts: session.view().counts,
      turns: session.ledger.figures.turns,
      waiting: session.ledger.asks.size,
    }),
  });
  session.bus.subscribe((event) => reporter.event(event));
  session.bus.subscribe((event) => people.event(event));
  const signals = watchSignals(
    { stop: (signal) => session.stop("signal", `stopped by ${signal}`), kill: place.killAll },
    context.leave,
  );
  const running = session.run({ waitForPeople: manner.ask });
  // What waited in the inbox is in by now, so nobody is asked what they have answered.
  people.begin();
  const end = await running;
  signals.restore();
  people.end();
  const exit_code = end.ok
    ? (signalled(end.value, signals.exitCode()) ?? exitCodeOf(end.value))
    : EXIT_CODE_OF[end.error.code];
  const waiting = end.ok && end.value.kind === "closed" ? [] : people.waiting();
  reporter.end(endingOf(place, session, { end, exit_code, waiting, elapsed_ms: performance.now() - began }));
  store.close();
  return ok(exit_code);
}

/** How `run` left the session, and with what this process exits. */
export interface End {
  readonly end: Result<SessionEnd, Failure>;
  readonly exit_code: number;
  readonly waiting: readonly Waiting[];
  readonly elapsed_ms: number | undefined;
}

/** Only a session that a signal really stopped exits with the signal's code; one that closed first has its own. */
function signalled(end: SessionEnd, exit_code: number | undefined): number | undefined {
  return end.kind === "stopped" && end.reason === "signal" ? exit_code : undefined;
}

/** What the last lines tell, from how the session was left. */
export function endingOf<S>(
  { home, store }: Place,
  session: Session<S>,
  { end, exit_code, waiting, elapsed_ms }: End,
): Ending {
  const { session_id } = session;
  const view = session.view();
  const report = finalReport(store, session_id, session.sequence);
  const paths = sessionPaths(home, session_id);
  const file = join(paths.folder, "final_report.md");
  const textOf = (title: Json) => session.resolve({ title }).title ?? "";
  return {
    session_id,
    exit_code,
    state: view.state,
    message: messageOf(end),
    failure: end.ok ? undefined : end.error,
    outcome: end.ok && end.value.kind === "closed" ? end.value.outcome : undefined,
    tickets: ticketLines(view, textOf, report),
    usage: usageOf(session.ledger.figures),
    elapsed_ms,
    result: report?.result as JsonObject | undefined,
    waiting,
    report: existsSync(file) ? file : undefined,
    log: paths.log,
    next: nextSteps(session_id, {
      exit_code,
      waiting,
      figures: session.ledger.figures,
      holds: session.ledger.holds.values(),
      report,
    }),
  };
}

function messageOf(end: Result<SessionEnd, Failure>): string | undefined {
  if (!end.ok) return end.error.hint;
  if (end.value.kind === "closed") return end.value.reason;
  return end.value.reason === "waiting" ? undefined : end.value.message;
}

/** The reporter that was asked for. */
export function reporterFor(manner: Manner, terminal: Terminal): Reporter {
  switch (manner.reporter) {
    case "json":
      return jsonReporter(terminal.out);
    case "silent":
      return silentReporter(terminal);
    case "plain":
      return plainReporter(terminal);
  }
}
