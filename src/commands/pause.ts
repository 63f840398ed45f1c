import type { Command } from "commander";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { localize } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { withHome } from "./context/home.ts";
import { putMessage, tellPut } from "./interaction/put.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { CHANGE_OPEN, CHANGED_SESSION, resolveSession, whyClosed } from "./lookup/resolve.ts";
import { figuresOf } from "./lookup/state.ts";

/** `bosun pause`: no new turns begin until `bosun resume`; running turns finish. */
export function register(command: Command, run: Run): void {
  command.argument(...CHANGED_SESSION).action((named: string | undefined) => run((context) => pause(context, named)));
}

async function pause(context: CommandContext, named: string | undefined): Promise<Result<number, Failure>> {
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
    const message = commandMessage({ command: "pause" });
    const put = await putMessage(store, row.value, message);
    if (!put.ok) return put;
    if (put.value.took !== "waits") return tellPut(context, store, row.value, message, put.value, paused);
    // The owner left before it took the message, and a pause does not outlive it.
    const left = store.session(session_id);
    if (!left.ok) return left;
    return err(whyClosed(store, left.value) ?? notRunning(session_id));
  });
}

/** A pause is not kept for later, because it would stop a session that someone has just resumed. */
function notRunning(session_id: string): Failure {
  return failure("usage", `${session_id} is not running.`, {
    hint: `No turns begin until it is resumed: bosun resume ${session_id}.`,
  });
}
