import type { Command } from "commander";
import { err, type Result } from "../lib/result.ts";
import { canBeRetried } from "../modes/schedule/waiting.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { StoreReader } from "../store/store.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { withHome } from "./context/home.ts";
import { addRunOptions, beside, type RunFlags, readRunOptions } from "./options/run-options.ts";
import { onlyOnResume } from "./options/ignored-options.ts";
import { putToOwner } from "./interaction/put.ts";
import { withUnusedAnswers } from "./interaction/answers.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { runtimeEnvironment } from "./driver/runtime-environment.ts";
import { takeUp } from "./driver/take-up.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { errorBefore, hasTickets, ticketValue } from "./lookup/schedule-state.ts";
import { resolveTarget, RETRY, type Target } from "./lookup/resolve.ts";

/** `bosun retry`: tries a ticket in error again. A closed session is reopened for it and runs here. */
export function register(command: Command, run: Run): void {
  command
    .usage("[options] [session] <ticket>")
    .argument("[words...]", "the session (optional unless several are running) and the ticket");
  addRunOptions(command);
  command.action((words: string[], options: RunFlags) => run((context) => retry(context, words, options)));
}

async function retry(
  context: CommandContext,
  words: readonly string[],
  options: RunFlags,
): Promise<Result<number, Failure>> {
  if (words.length > 2) {
    return err(failure("usage", "Too many arguments.", { hint: "Name one ticket: bosun retry SESSION TICKET." }));
  }
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  return withHome(await openHomeOf(context, words[0]), async (home) => {
    const { store } = home;
    const target = retriable(store, words);
    if (!target.ok) return target;
    const { row, ticket_id = "" } = target.value;
    const message = commandMessage({ command: "retry", ticket_id });
    if (row.state !== "closed") {
      const refused = onlyOnResume(store, row, options);
      return refused ? err(refused) : putToOwner(beside(context, runOptions.value), store, row, message);
    }
    const change = { reopen: `retry of ${ticket_id}`, facts: [message] };
    const left = takeUp(context, runtimeEnvironment(home, context), row, runOptions.value, change);
    return withUnusedAnswers(context, store, row.session_id, runOptions.value, left);
  });
}

function retriable(store: StoreReader, words: readonly string[]): Result<Target, Failure> {
  const target = resolveTarget(store, { words, command: "retry" }, RETRY);
  const wrong = target.ok ? cannotRetry(store, target.value) : undefined;
  return wrong ? err(wrong) : target;
}

function cannotRetry(store: StoreReader, { row, ticket_id }: Target): Failure | undefined {
  const { session_id } = row;
  if (!hasTickets(store, session_id)) {
    return failure("usage", `${session_id} is a ${row.mode}, which has no tickets.`, {
      hint: `See bosun status ${session_id}.`,
    });
  }
  if (ticket_id === undefined) {
    return failure("usage", "The ticket is missing.", {
      hint: `Name one: bosun retry ${session_id} TICKET. bosun status ${session_id} lists them.`,
    });
  }
  const ticket = ticketValue(store, session_id, ticket_id);
  const possible = ticket !== undefined && canBeRetried(ticket);
  // In an open session an earlier message may still unblock the other ticket: its owner decides.
  if (possible && row.state !== "closed") return undefined;
  const lost = ticket && errorBefore(store, session_id, ticket);
  if (lost !== undefined) {
    return failure("usage", `Ticket ${ticket_id} of ${session_id} depends on ${lost}, which is in error.`, {
      hint: `Retry that one: bosun retry ${session_id} ${lost}.`,
    });
  }
  if (possible) return undefined;
  return failure(
    "usage",
    `Ticket ${ticket_id} of ${session_id} is ${ticket?.status ?? "unknown"}. Only a ticket in error, waiting for a retry, out of budget, or blocked with delivered work can be retried.`,
    { hint: `See bosun status ${session_id}.` },
  );
}
