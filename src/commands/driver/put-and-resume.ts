import { ok } from "../../lib/result.ts";
import { EXIT_DONE, EXIT_INTERRUPTED } from "../../runtime/exit.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { confirmHere } from "../interaction/confirm.ts";
import type { PersonMessage } from "../interaction/person-message.ts";
import { type Put, putMessage, tellPut } from "../interaction/put.ts";
import { beside, readRunOptions, type RunFlags, type RunOptions } from "../options/run-options.ts";
import { takeUp } from "./take-up.ts";

/** The option of commands that can resume a session for their message, with its description. */
export const RESUME_OPTION = ["--resume", "resume the session if it is stopped, without asking"] as const;

/** The options of a command that may resume a session for its message. It may also have options for the run. */
export interface AfterwardsOptions extends Pick<RunFlags, "input"> {
  readonly resume?: boolean;
}

/** Puts messages to a session, reports what became of the last one, and may resume the session for them. */
export async function putAndResume(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  messages: readonly PersonMessage[],
  options: AfterwardsOptions & RunFlags,
): Promise<Exit> {
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  let last: Put | undefined;
  for (const message of messages) {
    const put = await putMessage(home.store, row, message);
    if (!put.ok) return put;
    last = put.value;
  }
  return last === undefined ? ok(EXIT_DONE) : resumeFor(context, home, row, last, runOptions.value, options.resume);
}

/**
 * Reports what became of a message. A session without a scheduler is resumed here if `resume` is set or the person at this terminal agrees;
 * otherwise the message waits, and the output says so.
 */
export async function resumeFor(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  put: Put,
  runOptions: RunOptions,
  resume = false,
): Promise<Exit> {
  const tell = () => ok(tellPut(beside(context, runOptions), put));
  if (put.took !== "waits") return tell();
  // A child session is resumed with its parent.
  const stopped = home.store.session(row.parent ?? row.session_id);
  if (!stopped.ok) return stopped;
  if (stopped.value.state === "closed") return tell();
  if (!resume) {
    const { session_id } = stopped.value;
    const question = `${session_id} is stopped. Resume it now?`;
    const declined = runOptions.ask ? await confirmHere(context, question, "yes") : EXIT_DONE;
    if (declined !== undefined) {
      const told = tell();
      return declined === EXIT_INTERRUPTED ? ok(declined) : told;
    }
  }
  return takeUp(context, home, stopped.value, runOptions, {});
}
