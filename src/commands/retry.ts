import type { Command } from "commander";
import { err, type Result } from "../lib/result.ts";
import { canBeRetried, REVISION } from "../modes/schedule/waiting.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { StoreReader } from "../store/store.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { openExistingHome, withHome } from "./context/home.ts";
import { addRunOptions, beside, type RunFlags, readRunOptions } from "./options/run-options.ts";
import { ignoredWhileRunning, ignoredWhileQueued } from "./options/ignored-options.ts";
import { ownerOf, putToOwner } from "./interaction/put.ts";
import { tellingUnused } from "./interaction/unused-answers.ts";
import { commandMessage } from "./interaction/person-message.ts";
import { runtimeEnvironment } from "./driver/runtime-environment.ts";
import { takeUp } from "./driver/take-up.ts";
import { errorBefore, hasTickets, ticketValue, waitingRevision } from "./lookup/schedule-state.ts";
import { resolveTarget, RETRY, type Target, whyClosed } from "./lookup/resolve.ts";

/** `bosun retry`: a ticket in error is tried again; a closed session is opened again for it, and run here. */
export function register(command: Command, run: Run): void {
  command
    .usage("[options] [session] <ticket>")
    .argument("[words...]", "the session, which may be left out where not several run, and the ticket");
  addRunOptions(command);
  command.action((words: string[], options: RunFlags) => run((context) => retry(context, words, options)));
}

async function retry(
  context: CommandContext,
  words: readonly string[],
  options: RunFlags,
): Promise<Result<number, Failure>> {
  if (words.length > 2) {
    return err(
      failure("usage", "There are more words than a session and a ticket.", {
        hint: "Name one ticket at a time: bosun retry SESSION TICKET.",
      }),
    );
  }
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  return withHome(openExistingHome(context), async (home) => {
    const { store } = home;
    const target = retriable(store, words);
    if (!target.ok) return target;
    const { row, ticket_id = "" } = target.value;
    const word = commandMessage({ command: "retry", ticket_id });
    if (row.state !== "closed") {
      const unheeded = unheededRetry(store, target.value, options);
      return unheeded ? err(unheeded) : putToOwner(beside(context, runOptions.value), store, row, word);
    }
    const change = { reopen: `retry of ${ticket_id}`, facts: [word] };
    const left = takeUp(context, runtimeEnvironment(home, context), row, runOptions.value, change);
    return tellingUnused(context, store, row.session_id, runOptions.value, left);
  });
}

/** One that is open is told to try again, by whoever runs it or will; only a closed one is run here, in the way that is wanted. */
function unheededRetry(store: StoreReader, { row, ticket_id }: Target, options: RunFlags): Failure | undefined {
  const again = `bosun retry ${row.session_id} ${ticket_id ?? ""}`;
  return ownerOf(store, row)
    ? ignoredWhileRunning(store, row, options, again)
    : ignoredWhileQueued(row, again, options);
}

function retriable(store: StoreReader, words: readonly string[]): Result<Target, Failure> {
  const target = resolveTarget(store, { words, command: "retry" }, RETRY);
  const wrong = target.ok ? cannotRetry(store, target.value) : undefined;
  return wrong ? err(wrong) : target;
}

function cannotRetry(store: StoreReader, { row, ticket_id }: Target): Failure | undefined {
  const { session_id } = row;
  if (!hasTickets(store, session_id)) {
    const hint = whyClosed(store, row)?.hint ?? `If it has stopped, it goes on with bosun resume ${session_id}.`;
    return failure("usage", `${session_id} is a ${row.mode}, which has no tickets: it tries again by itself.`, {
      hint,
    });
  }
  if (ticket_id === undefined) {
    return failure("usage", "No ticket is named.", {
      hint: `Name one: bosun retry ${session_id} TICKET. bosun status ${session_id} lists them.`,
    });
  }
  const ticket = ticketValue(store, session_id, ticket_id);
  const possible = ticket !== undefined && canBeRetried(ticket);
  // Of a session that is open, what was said before may still let the other one go on: its owner decides that.
  if (possible && row.state !== "closed") return undefined;
  const lost = ticket && errorBefore(store, session_id, ticket);
  if (lost !== undefined) {
    return failure("usage", `The ticket ${ticket_id} of ${session_id} waits for ${lost}, which is in error.`, {
      hint: `Try that one again: bosun retry ${session_id} ${lost}.`,
    });
  }
  if (possible) return undefined;
  return failure(
    "usage",
    `The ticket ${ticket_id} of ${session_id} is ${ticket?.status ?? "unknown"}; only one in error, waiting for a retry, out of budget, or blocked with delivered work can be tried again.`,
    {
      hint:
        ticket?.waits_for === REVISION && waitingRevision(store, session_id)
          ? `It waits for a revised plan to be approved: bosun plan ${session_id}.`
          : `See bosun status ${session_id}.`,
    },
  );
}
