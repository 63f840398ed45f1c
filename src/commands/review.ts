import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { showWaiting } from "../ui/waiting.ts";
import { tellNext } from "../ui/words.ts";
import type { Action } from "./context/command.ts";
import { type Needed, saidAlready } from "./lookup/kept.ts";
import { type AfterwardsOptions, putAndResume, RESUME_OPTION } from "./driver/take-up.ts";
import { decisionOn } from "./interaction/saying.ts";
import type { Decidable } from "./interaction/put.ts";
import { openHomeOf, withSession } from "./lookup/homes.ts";
import { BY_SESSION, CHANGE, CHANGED_SESSION, SHOW_OPEN, type Target } from "./lookup/resolve.ts";
import { neededOf } from "./lookup/view.ts";

interface ReviewOptions extends AfterwardsOptions {
  readonly session?: string;
  readonly approve?: boolean;
  readonly changes?: string;
  readonly reject?: boolean;
}

/** `bosun review`: a person's decision on a ticket's work, or on the result of the session. */
export function register(command: Command): Action<ReviewOptions> {
  command
    .argument(...CHANGED_SESSION)
    .argument("[ticket]", "the ticket (default: the session's result, or the only open review)")
    .option(...BY_SESSION)
    .option("--approve", "accept the work")
    .option("--changes <text>", "send it back, saying what to change")
    .option("--reject", "reject the session's result")
    .option(...RESUME_OPTION)
    .option("--no-input", "never ask at this terminal");
  return async (context, words, options) => {
    const said = [options.approve === true, options.reject === true, options.changes !== undefined].filter(Boolean);
    if (said.length > 1)
      return fails("usage", "--approve, --changes and --reject cannot be combined.", { hint: "Give one." });
    if (options.changes?.trim() === "")
      return fails("usage", "--changes needs a text.", { hint: "Say what to change." });
    const isShown = said.length === 0;
    const { out } = context.terminal;
    const typed = { words, session: options.session, command: "review" };
    return withSession(openHomeOf, context, typed, isShown ? SHOW_OPEN : CHANGE, async (found) => {
      const { store, row, session_id } = found;
      const { waiting } = await neededOf(store, session_id);
      const reviews = reviewsIn(found, waiting);
      const [review, another] = reviews;
      const { ticket_id } = found;
      const none = `${ticket_id === undefined ? "" : `${ticket_id} of `}${session_id} has no open review.`;
      if (isShown) {
        if (review === undefined) {
          out.line(none);
          tellNext(out, `bosun status ${session_id}`);
        }
        for (const one of reviews) showWaiting(out, session_id, one, one.kept);
        return ok(EXIT_DONE);
      }
      if (review === undefined) return fails("usage", none, { hint: `See bosun status ${session_id}.` });
      if (another !== undefined) {
        const names = reviews.map((one) => (one.kind === "review" ? one.ticket_id : "its result")).join(", ");
        return fails("usage", `${session_id} has several open reviews: ${names}.`, { hint: "Name a ticket." });
      }
      const what = review.kind === "review" ? `The work on ${review.ticket_id}` : "The result";
      if (review.kept !== undefined) return err(saidAlready(session_id, what, review.kept));
      const word = options.approve === true ? "approved" : options.reject === true ? "rejected" : "changes_requested";
      const decision = decisionOn(session_id, review, word, options.changes);
      return decision.ok ? putAndResume(context, found, row, [decision.value], options) : decision;
    });
  };
}

/** The open reviews of the named ticket; without one, all of them and the session's result. */
function reviewsIn({ ticket_id }: Target, waiting: readonly Needed[]): (Decidable & Needed)[] {
  return waiting.filter((one): one is Decidable & Needed =>
    one.kind === "review"
      ? ticket_id === undefined || one.ticket_id === ticket_id
      : ticket_id === undefined && one.kind === "approval" && one.about === "result",
  );
}
