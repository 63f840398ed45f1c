import type { Command } from "commander";
import type { Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { withHome } from "./context/home.ts";
import type { RunOptions } from "./options/run-options.ts";
import { ownerOf, putToOwner } from "./interaction/put.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { runtimeEnvironment } from "./driver/runtime-environment.ts";
import { takeUp } from "./driver/take-up.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { BY_SESSION, CHANGE_OPEN, CHANGED_SESSION, resolveTarget } from "./lookup/resolve.ts";

interface CancelOptions {
  readonly session?: string;
  readonly reason?: string;
}

/** The session closes at once and asks nothing. */
const AT_ONCE: RunOptions = {
  reporter: "plain",
  ask: false,
  answers: [],
  unanswered: "stop",
  approve_plans: false,
  plan_only: false,
  scheduler: "here",
};

/** `bosun cancel`: ends a session, or one ticket of it. A session that is not running is closed by this process. */
export function register(command: Command, run: Run): void {
  command
    .argument(...CHANGED_SESSION)
    .argument("[ticket]", "only this ticket")
    .option(...BY_SESSION)
    .option("--reason <text>", "why, for the record");
  command.action((_session, _ticket, options: CancelOptions) =>
    run((context) => cancel(context, command.args, options)),
  );
}

async function cancel(
  context: CommandContext,
  words: readonly string[],
  { session, reason }: CancelOptions,
): Promise<Result<number, Failure>> {
  return withHome(await openHomeOf(context, session ?? words[0]), async (home) => {
    const { store } = home;
    const target = resolveTarget(store, { words, session, command: "cancel" }, CHANGE_OPEN);
    if (!target.ok) return target;
    const { row, ticket_id } = target.value;
    const message = commandMessage({
      command: "cancel",
      ...(ticket_id === undefined ? {} : { ticket_id }),
      ...(reason === undefined ? {} : { reason }),
    });
    if (ticket_id === undefined && ownerOf(store, row) === undefined) {
      return takeUp(context, runtimeEnvironment(home, context), row, AT_ONCE, { ends: true, facts: [message] });
    }
    return putToOwner(context, store, row, message);
  });
}
