import { defined } from "../../lib/json.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { Actor } from "../../protocol/record.ts";
import type { Store } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import { commandMessage, ownerOf, type Put, putMessage } from "../interaction/put.ts";
import type { Found } from "../lookup/homes.ts";
import type { RunOptions } from "../options/run-options.ts";
import { takeUp } from "./take-up.ts";

/** The session closes at once and asks nothing. */
const AT_ONCE: Omit<RunOptions, "reporter"> = {
  ask: false,
  answers: [],
  unanswered: "stop",
  approve_plans: false,
  plan_only: false,
  scheduler: "here",
};

/** Ends a session, or the ticket that is named. A session that is not running is closed by this process, which gives its exit code. */
export async function cancelFound(
  context: CommandContext,
  found: Found<Store>,
  reason: string | undefined,
  reporter: RunOptions["reporter"],
  actor?: Actor,
): Promise<Fallible<Put | number>> {
  const { store, row, ticket_id } = found;
  const message = commandMessage({ command: "cancel", ...defined({ ticket_id, reason }) });
  if (ticket_id === undefined && ownerOf(store, row) === undefined)
    return takeUp(context, found, row, { ...AT_ONCE, reporter }, { ends: true, facts: [message] });
  return putMessage(store, row, message, actor);
}
