import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { canBeRetried, errorBefore } from "../modes/schedule/waiting.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { Store } from "../store/store.ts";
import { clipped } from "../ui/display.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addRunOptions, beside, onlyOnResume, readRunOptions, type RunFlags } from "./options/run-options.ts";
import { commandMessage, ownerOf } from "./interaction/put.ts";
import { type AfterwardsOptions, putAndResume, RESUME_OPTION, takeUp } from "./driver/take-up.ts";
import { type Found, openHomeOf, withSession } from "./lookup/homes.ts";
import { retriableTickets, scheduleState } from "./lookup/schedule-state.ts";
import { RETRY } from "./lookup/resolve.ts";

interface RetryOptions extends AfterwardsOptions, RunFlags {
  readonly all?: boolean;
}

/** `bosun retry`: tries tickets again. A closed session is reopened for it and runs here. */
export function register(command: Command): Action<RetryOptions> {
  command
    .usage("[options] [session] <ticket> | [options] --all [session]")
    .argument("[words...]", "the session (default: the latest, unless several are running) and the ticket")
    .option("--all", "every ticket that can be tried again, but not what a revised plan left out")
    .option(...RESUME_OPTION);
  addRunOptions(command);
  return retry;
}

async function retry(context: CommandContext, words: readonly string[], options: RetryOptions): Promise<Exit> {
  if (words.length > (options.all === true ? 1 : 2)) {
    const hint = "Name one ticket: bosun retry SESSION TICKET. All tickets: bosun retry --all SESSION.";
    return fails("usage", "Too many arguments.", { hint });
  }
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const typed = options.all === true ? words[0] : { words, command: "retry" };
  return withSession(openHomeOf, context, typed, RETRY, async (found) => {
    const { store, row } = found;
    const retriable = options.all === true ? await allRetriable(found) : await retriableTicket(found);
    if (!retriable.ok) return retriable;
    const tickets = retriable.value;
    const messages = tickets.map((ticket_id) => commandMessage({ command: "retry", ticket_id }));
    const [only = "", another] = tickets;
    const what = another === undefined ? only : `${tickets.length} tickets`;
    if (options.all === true)
      beside(context, runOptions.value).terminal.out.line(`Retrying ${clipped(tickets.join(", "), TICKETS_WIDTH)}.`);
    if (row.state !== "closed") {
      const isResumed = options.resume === true && ownerOf(store, row) === undefined;
      const refused = isResumed ? undefined : onlyOnResume(store, row, options);
      return refused ? err(refused) : putAndResume(context, found, row, messages, options);
    }
    const change = { reopen: `retry of ${what}`, facts: messages };
    return takeUp(context, found, row, runOptions.value, change);
  });
}

/** Maximum width of the list of retried tickets, in columns. */
const TICKETS_WIDTH = 400;

async function allRetriable({ store, session_id }: Found<Store>): Promise<Fallible<string[]>> {
  const state = await scheduleState(store, session_id);
  const tickets = state === undefined ? [] : retriableTickets(state);
  if (tickets.length > 0) return ok(tickets);
  return fails("usage", `${session_id} has no ticket that can be tried again.`, {
    hint: `See bosun status ${session_id}.`,
  });
}

/** The named ticket, if it can be tried again. */
async function retriableTicket({ store, row, session_id, ticket_id }: Found<Store>): Promise<Fallible<string[]>> {
  const hint = `See bosun status ${session_id}.`;
  const state = await scheduleState(store, session_id);
  if (state === undefined) return fails("usage", `${session_id} is a ${row.mode}, which has no tickets.`, { hint });
  if (ticket_id === undefined) {
    return fails("usage", "The ticket is missing.", {
      hint: `Name one: bosun retry ${session_id} TICKET; or all: bosun retry --all ${session_id}. bosun status ${session_id} lists them.`,
    });
  }
  const ticket = state.tickets.get(ticket_id);
  const possible = ticket !== undefined && canBeRetried(ticket);
  // In an open session an earlier message may still unblock the other ticket: its owner decides.
  if (possible && row.state !== "closed") return ok([ticket_id]);
  const lost = ticket && errorBefore((id) => state.tickets.get(id), state, ticket);
  if (lost !== undefined) {
    return fails("usage", `Ticket ${ticket_id} of ${session_id} depends on ${lost}, which is in error.`, {
      hint: `Retry that one: bosun retry ${session_id} ${lost}.`,
    });
  }
  if (possible) return ok([ticket_id]);
  return fails(
    "usage",
    `Ticket ${ticket_id} of ${session_id} is ${ticket?.status ?? "unknown"}. Only a ticket in error, waiting for a retry, out of budget, or blocked with delivered work can be retried.`,
    { hint },
  );
}
