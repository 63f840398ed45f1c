import type { Session } from "../runtime/session.ts";
import type { Outcome } from "../kernel/mode.ts";
import { EXIT_DONE, EXIT_FAILED } from "../runtime/exit.ts";
import type { CommandContext } from "./command.ts";
import { reporterFor } from "./drive.ts";
import { endingOf, lastStandOf } from "./leaving.ts";
import type { Manner } from "./manner.ts";
import type { Place } from "./surroundings.ts";

/** Shows how a session ended that is closed already, as if this command had run it. */
export function showClosed<S>(
  context: CommandContext,
  place: Place,
  session: Session<S>,
  manner: Manner,
): { readonly outcome: Outcome } {
  const closed = session.ledger.figures.closed ?? { outcome: "failed" };
  const exit_code = closed.outcome === "done" ? EXIT_DONE : EXIT_FAILED;
  const reporter = reporterFor(manner, context.terminal);
  const end = { ok: true, value: { kind: "closed", ...closed } } as const;
  const row = place.store.session(session.session_id);
  reporter.begin({
    session_id: session.session_id,
    version: place.version,
    requirement: row.ok ? (row.value.requirement ?? undefined) : undefined,
    workspace: row.ok ? row.value.workspace : "",
    resumed: true,
    kill_grace_s: 0,
    now: () => ({ state: "closed", counts: {}, turns: 0, waiting: 0 }),
  });
  const stand = lastStandOf(place.store, session);
  reporter.end(endingOf(place.home, stand, { end, exit_code, waiting: [], elapsed_ms: undefined }));
  return closed;
}
