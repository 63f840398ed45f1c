import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { localize } from "../ui/words.ts";
import type { Action } from "./context/command.ts";
import { commandMessage, putMessage, tellPut } from "./interaction/put.ts";
import { openHomeOf, withSession } from "./lookup/homes.ts";
import { CHANGE_OPEN, CHANGED_SESSION } from "./lookup/resolve.ts";
import { figuresOf } from "./lookup/state.ts";

/** `bosun pause`: no new turns begin until `bosun resume`; running turns finish. */
export function register(command: Command): Action<object> {
  command.argument(...CHANGED_SESSION);
  return async (context, [named]) => {
    return withSession(openHomeOf, context, named, CHANGE_OPEN, async ({ store, row, session_id }) => {
      if (store.holder(session_id) === undefined) return err(notRunning(session_id));
      const resume = localize(context.terminal.out, `bosun resume ${session_id}`);
      const paused = `No new turns begin; running turns finish. To continue: ${resume}`;
      if (figuresOf(store, session_id)?.paused === true) {
        context.terminal.out.line(`${session_id} is paused already. ${paused}`);
        return ok(EXIT_DONE);
      }
      const put = await putMessage(store, row, commandMessage({ command: "pause" }));
      if (!put.ok) return put;
      // If the owner left before it took the message: a pause does not outlive it.
      return put.value.took === "waits" ? err(notRunning(session_id)) : ok(tellPut(context, put.value, paused));
    });
  };
}

/** A pause is not kept for later, because it would stop a session that someone has just resumed. */
function notRunning(session_id: string): Failure {
  return failure("usage", `${session_id} is not running.`, {
    hint: `No turns begin until it is resumed: bosun resume ${session_id}.`,
  });
}
