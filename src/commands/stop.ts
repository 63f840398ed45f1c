import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { fails, isOfStorage } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { Store } from "../store/store.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { commandMessage, putMessage } from "./interaction/put.ts";
import { released } from "./driver/take-up.ts";
import { type Found, openHomeOf, withSession } from "./lookup/homes.ts";
import { CHANGE_OPEN, CHANGED_SESSION } from "./lookup/resolve.ts";

/** How long to wait for the scheduler to stop, in ms: its agents and its notification get time to end. */
const STOPPED_WITHIN_MS = 60_000;

interface StopOptions {
  readonly reason?: string;
}

/** `bosun stop`: stops a running session like Ctrl-C in its terminal. Its agents are ended, and their turns stay open. */
export function register(command: Command): Action<StopOptions> {
  command.argument(...CHANGED_SESSION).option("--reason <text>", "why, for the record");
  return async (context, [named], options) => {
    return withSession(openHomeOf, context, named, CHANGE_OPEN, (found) => stopHolder(context, found, options));
  };
}

async function stopHolder(
  { terminal: { out } }: CommandContext,
  { store, row, session_id }: Found<Store>,
  { reason }: StopOptions,
): Promise<Exit> {
  const isHeld = () => store.holder(session_id) !== undefined;
  if (!isHeld()) {
    out.line(`${session_id} is not running.`);
    tellNext(out, `bosun resume ${session_id}`);
    return ok(EXIT_DONE);
  }
  const message = commandMessage({ command: "stop", ...(reason === undefined ? {} : { reason }) });
  const put = await putMessage(store, row, message);
  // A scheduler that is frozen inside a transaction locks the database, so no message can be sent to it.
  if (!put.ok && isOfStorage(put.error))
    return err({ ...put.error, hint: [put.error.hint ?? "", takingOver(store, session_id)].join("\n").trim() });
  if (!put.ok) return put;
  const stopped = await released(isHeld, STOPPED_WITHIN_MS);
  const left = store.session(session_id);
  if (!left.ok) return left;
  if (!stopped)
    return fails("busy", `${session_id} was told to stop, but is still running.`, {
      hint: takingOver(store, session_id),
    });
  out.line(`${session_id} is stopped${left.value.state === "stopped" ? "" : ` (${left.value.state})`}.`);
  tellNext(out, `bosun ${left.value.state === "closed" ? "status" : "resume"} ${session_id}`);
  return ok(EXIT_DONE);
}

/** How to end the process of a scheduler that does not stop. */
function takingOver(store: Store, session_id: string): string {
  const { pid = "?", host = "?" } = store.holder(session_id) ?? {};
  return `It runs in process ${pid} on ${host}. To end that process and continue: bosun resume ${session_id} --take-over.`;
}
