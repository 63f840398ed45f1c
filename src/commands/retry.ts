import type { Command } from "commander";
import { err, ok, type Result } from "../lib/result.ts";
import { canBeRetried, errorBefore } from "../modes/schedule/waiting.ts";
import { fails, type Failure, failure } from "../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import { clipped } from "../ui/display.ts";
import type { CommandContext, Exit, Run } from "./context/command.ts";
import { withHome } from "./context/home.ts";
import { addRunOptions, beside, onlyOnResume, readRunOptions, type RunFlags } from "./options/run-options.ts";
import { ownerOf } from "./interaction/put.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { type AfterwardsOptions, putAndResume, RESUME_OPTION } from "./driver/put-and-resume.ts";
import { takeUp } from "./driver/take-up.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { retriableTickets, scheduleState } from "./lookup/schedule-state.ts";
import { resolveSession, resolveTarget, RETRY, type Target } from "./lookup/resolve.ts";

interface RetryOptions extends AfterwardsOptions, RunFlags {
  readonly all?: boolean;
}

/** `bosun retry`: tries tickets again. A closed session is reopened for it and runs here. */
export function register(command: Command, run: Run): void {
  command
    .usage("[options] [session] <ticket> | [options] --all [session]")
    .argument("[words...]", "the session (default: the latest, unless several are running) and the ticket")
    .option("--all", "every ticket that can be tried again, but not what a revised plan left out")
    .option(...RESUME_OPTION);
  addRunOptions(command);
  command.action((words: string[], options: RetryOptions) => run((context) => retry(context, words, options)));
}

async function retry(context: CommandContext, words: readonly string[], options: RetryOptions): Promise<Exit> {
  if (words.length > (options.all === true ? 1 : 2)) {
    const hint = "Name one ticket: bosun retry SESSION TICKET. All tickets: bosun retry --all SESSION.";
    return fails("usage", "Too many arguments.", { hint });
  }
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  return withHome(await openHomeOf(context, words[0]), async (home) => {
    const { store } = home;
    const target = options.all === true ? await allRetriable(store, words[0]) : await retriable(store, words);
    if (!target.ok) return target;
    const { row, tickets } = target.value;
    const messages = tickets.map((ticket_id) => commandMessage({ command: "retry", ticket_id }));
    const [only = "", another] = tickets;
    const what = another === undefined ? only : `${tickets.length} tickets`;
    if (options.all === true)
      beside(context, runOptions.value).terminal.out.line(`Retrying ${clipped(tickets.join(", "), TICKETS_WIDTH)}.`);
    if (row.state !== "closed") {
      const isResumed = options.resume === true && ownerOf(store, row) === undefined;
      const refused = isResumed ? undefined : onlyOnResume(store, row, options);
      return refused ? err(refused) : putAndResume(context, home, row, messages, options);
    }
    const change = { reopen: `retry of ${what}`, facts: messages };
    return takeUp(context, home, row, runOptions.value, change);
  });
}

/** Maximum width of the list of retried tickets, in columns. */
const TICKETS_WIDTH = 400;

/** Tickets of one session to retry. */
interface Retriable {
  readonly row: SessionRow;
  readonly tickets: readonly string[];
}

async function retriable(store: StoreReader, words: readonly string[]): Promise<Result<Retriable, Failure>> {
  const target = resolveTarget(store, { words, command: "retry" }, RETRY);
  if (!target.ok) return target;
  const { row, ticket_id } = target.value;
  const wrong = await cannotRetry(store, target.value);
  return wrong ? err(wrong) : ok({ row, tickets: ticket_id === undefined ? [] : [ticket_id] });
}

async function allRetriable(store: StoreReader, named: string | undefined): Promise<Result<Retriable, Failure>> {
  const row = resolveSession(store, named, RETRY);
  if (!row.ok) return row;
  const { session_id } = row.value;
  const state = await scheduleState(store, session_id);
  const tickets = state === undefined ? [] : retriableTickets(state);
  if (tickets.length > 0) return ok({ row: row.value, tickets });
  return fails("usage", `${session_id} has no ticket that can be tried again.`, {
    hint: `See bosun status ${session_id}.`,
  });
}

async function cannotRetry(store: StoreReader, { row, ticket_id }: Target): Promise<Failure | undefined> {
  const { session_id } = row;
  const hint = `See bosun status ${session_id}.`;
  const state = await scheduleState(store, session_id);
  if (state === undefined) return failure("usage", `${session_id} is a ${row.mode}, which has no tickets.`, { hint });
  if (ticket_id === undefined) {
    return failure("usage", "The ticket is missing.", {
      hint: `Name one: bosun retry ${session_id} TICKET; or all: bosun retry --all ${session_id}. bosun status ${session_id} lists them.`,
    });
  }
  const ticket = state.tickets.get(ticket_id);
  const possible = ticket !== undefined && canBeRetried(ticket);
  // In an open session an earlier message may still unblock the other ticket: its owner decides.
  if (possible && row.state !== "closed") return undefined;
  const lost = ticket && errorBefore((id) => state.tickets.get(id), state, ticket);
  if (lost !== undefined) {
    return failure("usage", `Ticket ${ticket_id} of ${session_id} depends on ${lost}, which is in error.`, {
      hint: `Retry that one: bosun retry ${session_id} ${lost}.`,
    });
  }
  if (possible) return undefined;
  return failure(
    "usage",
    `Ticket ${ticket_id} of ${session_id} is ${ticket?.status ?? "unknown"}. Only a ticket in error, waiting for a retry, out of budget, or blocked with delivered work can be retried.`,
    { hint },
  );
}
