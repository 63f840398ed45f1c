import type { Command } from "commander";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure, isOfStorage } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { openExistingHome, withHome } from "./context/home.ts";
import { putMessage } from "./interaction/put.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { released } from "./driver/take-over.ts";
import { CHANGE_OPEN, CHANGED_SESSION, resolveSession } from "./lookup/resolve.ts";

/** How long this command waits for a scheduler that was told to stop, in ms: its agents get time to end, and so does a notification. */
const STOPPED_WITHIN_MS = 60_000;

interface StopOptions {
  readonly reason?: string;
}

/** `bosun stop`: a session that is at work is left as by Ctrl-C in its own terminal; what runs is ended and stays open. */
export function register(command: Command, run: Run): void {
  command
    .argument(...CHANGED_SESSION)
    .option("--reason <text>", "why, for the record")
    .action((named: string | undefined, options: StopOptions) => run((context) => stop(context, named, options)));
}

async function stop(
  context: CommandContext,
  named: string | undefined,
  options: StopOptions,
): Promise<Result<number, Failure>> {
  return withHome(openExistingHome(context), async ({ store }) => {
    const row = resolveSession(store, named, CHANGE_OPEN);
    if (!row.ok) return row;
    return stopHolder(context, store, row.value, options);
  });
}

async function stopHolder(
  { terminal: { out } }: CommandContext,
  store: Store,
  row: SessionRow,
  { reason }: StopOptions,
): Promise<Result<number, Failure>> {
  const { session_id } = row;
  const isHeld = () => store.holder(session_id) !== undefined;
  if (!isHeld()) {
    out.line(`Nobody runs ${session_id}: there is nothing to stop.`);
    tellNext(out, `bosun resume ${session_id}`);
    return ok(EXIT_DONE);
  }
  const word = commandMessage({ command: "stop", ...(reason === undefined ? {} : { reason }) });
  const put = await putMessage(store, row, word);
  if (!put.ok) return isOfStorage(put.error) ? err(notTold(store, session_id, put.error)) : put;
  const stopped = await released(isHeld, STOPPED_WITHIN_MS);
  const left = store.session(session_id);
  if (!left.ok) return left;
  if (!stopped) return err(notLeft(store, session_id));
  out.line(`Nobody runs ${session_id} any more: it is ${left.value.state}.`);
  tellNext(out, `bosun ${left.value.state === "closed" ? "status" : "resume"} ${session_id}`);
  return ok(EXIT_DONE);
}

/** A scheduler that is frozen in the middle of a transaction has the database in its hands, so nothing can be put to it. */
function notTold(store: Store, session_id: string, why: Failure): Failure {
  const { pid = "?", host = "?" } = store.holder(session_id) ?? {};
  const hint = `It is at work in process ${pid} on ${host}. To end that process, be it frozen, and go on: bosun resume ${session_id} --take-over.`;
  return { ...why, hint: why.hint === undefined ? hint : `${why.hint}\n${hint}` };
}

function notLeft(store: Store, session_id: string): Failure {
  const { pid = "?", host = "?" } = store.holder(session_id) ?? {};
  return failure("busy", `${session_id} was told to stop, and its process ${pid} on ${host} has not left yet.`, {
    hint: `See bosun status ${session_id}. To end that process and go on: bosun resume ${session_id} --take-over.`,
  });
}
