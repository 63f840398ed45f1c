import type { Command } from "commander";
import { err, type Result } from "../lib/result.ts";
import { canBeRetried, REVISION } from "../modes/schedule/waiting.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { StoreReader } from "../store/store.ts";
import type { CommandContext, Run } from "./call/command.ts";
import { openExistingHome, withHome } from "./call/home.ts";
import { addMannerOptions, beside, type MannerOptions, mannerOf } from "./input/manner.ts";
import { unheededAtWork, unheededWhileKept } from "./input/unheeded.ts";
import { ownerOf, putToOwner } from "./person/put.ts";
import { tellingUnused } from "./person/unused-answers.ts";
import { commandWord } from "./person/word.ts";
import { placeOf } from "./running/place.ts";
import { takeUp } from "./running/take-up.ts";
import { chooseLastToChange, whyClosed } from "./session/choose.ts";
import { errorBefore, hasTickets, ticketValue, waitingRevision } from "./session/schedule-state.ts";
import { chooseTarget, type Target } from "./session/target.ts";

/** `bosun retry`: a ticket in error is tried again; a closed session is opened again for it, and run here. */
export function register(command: Command, run: Run): void {
  command
    .usage("[options] [session] <ticket>")
    .argument("[words...]", "the session, which may be left out where not several run, and the ticket");
  addMannerOptions(command);
  command.action((words: string[], options: MannerOptions) => run((context) => retry(context, words, options)));
}

async function retry(
  context: CommandContext,
  words: readonly string[],
  options: MannerOptions,
): Promise<Result<number, Failure>> {
  if (words.length > 2) {
    return err(
      failure("usage", "There are more words than a session and a ticket.", {
        hint: "Name one ticket at a time: bosun retry SESSION TICKET.",
      }),
    );
  }
  const manner = await mannerOf(context, options);
  if (!manner.ok) return manner;
  return withHome(openExistingHome(context), async (home) => {
    const { store } = home;
    const target = retriable(store, words);
    if (!target.ok) return target;
    const { row, ticket_id = "" } = target.value;
    const word = commandWord({ command: "retry", ticket_id });
    if (row.state !== "closed") {
      const unheeded = unheededRetry(store, target.value, options);
      return unheeded ? err(unheeded) : putToOwner(beside(context, manner.value), store, row, word);
    }
    const change = { reopen: `retry of ${ticket_id}`, facts: [word] };
    const left = takeUp(context, placeOf(home, context), row, manner.value, change);
    return tellingUnused(context, store, row.session_id, manner.value, left);
  });
}

/** One that is open is told to try again, by whoever runs it or will; only a closed one is run here, in the way that is wanted. */
function unheededRetry(store: StoreReader, { row, ticket_id }: Target, options: MannerOptions): Failure | undefined {
  const again = `bosun retry ${row.session_id} ${ticket_id ?? ""}`;
  return ownerOf(store, row) ? unheededAtWork(store, row, options, again) : unheededWhileKept(row, again, options);
}

function retriable(store: StoreReader, words: readonly string[]): Result<Target, Failure> {
  const target = chooseTarget(store, words, chooseLastToChange);
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
