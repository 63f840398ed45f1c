import type { Session } from "../../runtime/session.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { CommandContext } from "../context/command.ts";
import type { RunOptions } from "../options/run-options.ts";
import { buildEnding, snapshotOf } from "../presenters/ending.ts";
import { reporterFor } from "./reporter-for.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";

/**
 * Shows how a session ended that is closed already, as if this command had run it, and lets go of it. Whoever closed it may have died
 * before anybody was notified, which is made up for. Fails as `Session.run` does.
 */
export async function showClosed<S>(
  context: CommandContext,
  runtime: RuntimeEnvironment,
  session: Session<S>,
  runOptions: RunOptions,
): Promise<Result<number, Failure>> {
  const reporter = reporterFor(runOptions, context);
  const row = runtime.store.session(session.session_id);
  reporter.begin({
    session_id: session.session_id,
    version: runtime.version,
    requirement: row.ok ? (row.value.requirement ?? undefined) : undefined,
    workspace: row.ok ? row.value.workspace : "",
    output: sessionPaths(runtime.home, session.session_id).output,
    resumed: true,
    closed: true,
    kill_grace_s: 0,
    now: () => ({ state: "closed", counts: {}, turns: 0, waiting: 0, running: [], checking: [], held: [] }),
  });
  session.bus.subscribe((event) => reporter.event(event));
  try {
    const end = await session.run({ waitForPeople: false });
    if (!end.ok) return end;
    const ending = buildEnding(runtime.home, snapshotOf(runtime.store, session), { end });
    reporter.end(ending);
    return ok(ending.exit_code);
  } finally {
    reporter.close();
  }
}
