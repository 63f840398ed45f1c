import type { Command } from "commander";
import { withArticle } from "../lib/article.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { Store } from "../store/store.ts";
import { clipped } from "../ui/display.ts";
import type { Action } from "./context/command.ts";
import { addRunOptions, beside, onlyOnResume, readRunOptions, type RunFlags } from "./options/run-options.ts";
import { commandMessage, ownerOf } from "./interaction/put.ts";
import { type AfterwardsOptions, putAndResume, RESUME_OPTION, takeUp } from "./driver/take-up.ts";
import { whyLost } from "./lookup/copies.ts";
import { type Found, openHomeOf, withSession } from "./lookup/homes.ts";
import { engineOf, named, subjectWord } from "./lookup/modes.ts";
import { RETRY } from "./lookup/resolve.ts";
import { openedWith } from "./lookup/state.ts";

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
  return async (context, words, options) => {
    if (words.length > (options.all === true ? 1 : 2)) {
      const hint = "Name one ticket: bosun retry SESSION TICKET. All tickets: bosun retry --all SESSION.";
      return fails("usage", "Too many arguments.", { hint });
    }
    const runOptions = await readRunOptions(context, options);
    if (!runOptions.ok) return runOptions;
    const typed = options.all === true ? words[0] : { words, command: "retry" };
    return withSession(openHomeOf, context, typed, RETRY, async (found) => {
      const { store, row } = found;
      const again = await retriable(found, options.all === true);
      if (!again.ok) return again;
      const ids = again.value;
      const messages = ids.map((ticket_id) => commandMessage({ command: "retry", ticket_id }));
      const [only = "", another] = ids;
      const what = another === undefined ? only : `${ids.length} ${subjectWord(row)}s`;
      if (options.all === true)
        beside(context, runOptions.value).terminal.out.line(`Retrying ${clipped(ids.join(", "), LIST_WIDTH)}.`);
      if (row.state !== "closed") {
        const isResumed = options.resume === true && ownerOf(store, row) === undefined;
        const refused = isResumed ? undefined : onlyOnResume(store, row, options);
        return refused ? err(refused) : putAndResume(context, found, row, messages, options);
      }
      const hasCopies = openedWith(store, row.session_id)?.repository !== undefined;
      const lost = hasCopies ? whyLost(found.home, row.session_id) : undefined;
      if (lost) return err(lost);
      const change = { reopen: `retry of ${what}`, facts: messages };
      return takeUp(context, found, row, runOptions.value, change);
    });
  };
}

/** Maximum width of the list of what is retried, in columns. */
const LIST_WIDTH = 400;

/** What can be tried again: the named ticket, or its mode's equivalent; with `all`, everything. */
async function retriable(
  { store, row, ticket_id: id }: Found<Store>,
  all: boolean,
): Promise<Fallible<readonly string[]>> {
  const engine = await engineOf(store, row);
  if (!engine.ok) return engine;
  const { mode, state } = engine.value;
  const { session_id } = row;
  const noun = subjectWord(row);
  const refused = (what: string, hint = `See bosun status ${session_id}.`) => fails("usage", what, { hint });
  const { retrying } = mode;
  if (retrying === undefined) return refused(`${session_id} is ${withArticle(row.mode)}, which retries by itself.`);
  if (all) {
    const ids = retrying.all?.(state) ?? mode.ids(state).filter((one) => retrying.may(state, one));
    return ids.length > 0 ? ok(ids) : refused(`${session_id} has no ${noun} that can be tried again.`);
  }
  if (id === undefined) {
    const hint = `Name one: bosun retry ${session_id} ${noun.toUpperCase()}; or all: bosun retry --all ${session_id}. bosun status ${session_id} lists them.`;
    return refused(`The ${noun} is missing.`, hint);
  }
  const isPossible = retrying.may(state, id);
  // In an open session an earlier message may still unblock the other one: its owner decides.
  const first = isPossible && row.state !== "closed" ? undefined : retrying.before?.(state, id);
  if (first !== undefined) {
    const what = `${named(row, id)} depends on ${first}, which is in error.`;
    return refused(what, `Retry that one: bosun retry ${session_id} ${first}.`);
  }
  if (isPossible) return ok([id]);
  return refused(
    `${named(row, id)} is ${mode.subject(state, id)?.status ?? "unknown"}. Only ${retrying.which} can be retried.`,
  );
}
