import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { localize } from "../ui/words.ts";
import type { CommandContext, Exit, Run } from "./context/command.ts";
import { withHome } from "./context/home.ts";
import { putMessage, tellPut } from "./interaction/put.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { CHANGE_OPEN, CHANGED_SESSION, resolveSession } from "./lookup/resolve.ts";
import { figuresOf } from "./lookup/state.ts";

/** `bosun pause`: no new turns begin until `bosun resume`; running turns finish. */
export function register(command: Command, run: Run): void {
  command.argument(...CHANGED_SESSION).action((named: string | undefined) => run((context) => pause(context, named)));
}

async function pause(context: CommandContext, named: string | undefined): Promise<Exit> {
  return withHome(await openHomeOf(context, named), async ({ store }) => {
    const row = resolveSession(store, named, CHANGE_OPEN);
    if (!row.ok) return row;
    const { session_id } = row.value;
    if (store.holder(session_id) === undefined) return err(notRunning(session_id));
    const resume = localize(context.terminal.out, `bosun resume ${session_id}`);
    const paused = `No new turns begin; running turns finish. To continue: ${resume}`;
    if (figuresOf(store, session_id)?.paused === true) {
      context.terminal.out.line(`${session_id} is paused already. ${paused}`);
      return ok(EXIT_DONE);
    }
    const put = await putMessage(store, row.value, commandMessage({ command: "pause" }));
    if (!put.ok) return put;
    // If the owner left before it took the message: a pause does not outlive it.
    return put.value.took === "waits" ? err(notRunning(session_id)) : ok(tellPut(context, put.value, paused));
  });
}

/** A pause is not kept for later, because it would stop a session that someone has just resumed. */
function notRunning(session_id: string): Failure {
  return failure("usage", `${session_id} is not running.`, {
    hint: `No turns begin until it is resumed: bosun resume ${session_id}.`,
  });
}
