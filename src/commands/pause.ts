import type { Command } from "commander";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { localize } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { openExistingHome, withHome } from "./context/home.ts";
import { putMessage, tellPut } from "./interaction/put.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { CHANGE_OPEN, CHANGED_SESSION, resolveSession, whyClosed } from "./lookup/resolve.ts";
import { figuresOf } from "./lookup/state.ts";

/** `bosun pause`: no new turns begin until `bosun resume`; those that run go on to their end. */
export function register(command: Command, run: Run): void {
  command.argument(...CHANGED_SESSION).action((named: string | undefined) => run((context) => pause(context, named)));
}

async function pause(context: CommandContext, named: string | undefined): Promise<Result<number, Failure>> {
  return withHome(openExistingHome(context), async ({ store }) => {
    const row = resolveSession(store, named, CHANGE_OPEN);
    if (!row.ok) return row;
    const { session_id } = row.value;
    if (store.holder(session_id) === undefined) return err(nobodyRuns(session_id));
    const resume = localize(context.terminal.out, `bosun resume ${session_id}`);
    const on = `Running turns finish; to continue: ${resume}`;
    if (figuresOf(store, session_id)?.paused === true) {
      context.terminal.out.line(`${session_id} was paused already: no new turns begin. ${on}`);
      return ok(EXIT_DONE);
    }
    const message = commandMessage({ command: "pause" });
    const put = await putMessage(store, row.value, message);
    if (!put.ok) return put;
    if (put.value.took !== "waits")
      return tellPut(context, store, row.value, message, put.value, `No new turns begin. ${on}`);
    // They left before they heard of it, and it is over with them.
    const left = store.session(session_id);
    if (!left.ok) return left;
    return err(whyClosed(store, left.value) ?? nobodyRuns(session_id));
  });
}

/** Whoever takes it up means it to go on, so a pause that waited for them would only hold up what they began. */
function nobodyRuns(session_id: string): Failure {
  return failure("usage", `Nobody runs ${session_id}, so there is nothing to pause.`, {
    hint: `No turn begins before somebody takes it up: bosun resume ${session_id}.`,
  });
}
