import type { Command } from "commander";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { SessionRow } from "../store/store.ts";
import { showWaiting, type Waiting } from "../ui/waiting.ts";
import { tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { openExistingHome, withHome } from "./context/home.ts";
import { cancelFor, keptFor, saidAlready } from "./interaction/kept.ts";
import { putToOwner } from "./interaction/put.ts";
import type { PersonMessage } from "./interaction/person-message.ts";
import { waitingOf } from "./lookup/asks.ts";
import { BY_SESSION, CHANGE, CHANGED_SESSION, resolveTarget, SHOW_OPEN, type Target } from "./lookup/resolve.ts";

interface ReviewOptions {
  readonly session?: string;
  readonly approve?: boolean;
  readonly changes?: string;
  readonly reject?: boolean;
}

/** `bosun review`: a person's decision on a ticket's work, or on the result of the session. */
export function register(command: Command, run: Run): void {
  command
    .argument(...CHANGED_SESSION)
    .argument("[ticket]", "the ticket (default: the session's result, or the only open review)")
    .option(...BY_SESSION)
    .option("--approve", "accept the work")
    .option("--changes <text>", "send it back, saying what to change")
    .option("--reject", "reject the session's result");
  command.action((_session, _ticket, options: ReviewOptions) =>
    run((context) => review(context, command.args, options)),
  );
}

async function review(
  context: CommandContext,
  words: readonly string[],
  options: ReviewOptions,
): Promise<Result<number, Failure>> {
  const said = [options.approve === true, options.reject === true, options.changes !== undefined].filter(
    Boolean,
  ).length;
  if (said > 1)
    return err(failure("usage", "--approve, --changes and --reject cannot be combined.", { hint: "Give one." }));
  if (options.changes?.trim() === "") {
    return err(
      failure("usage", "--changes needs a text.", {
        hint: 'For example: bosun review --changes "Split it into two files.". To see open reviews: bosun review.',
      }),
    );
  }
  return withHome(openExistingHome(context), async ({ store }) => {
    const { session } = options;
    const target = resolveTarget(store, { words, session, command: "review" }, said === 0 ? SHOW_OPEN : CHANGE);
    if (!target.ok) return target;
    const { row } = target.value;
    const waiting = await waitingOf(store, row.session_id);
    if (!waiting.ok) return waiting;
    // A ticket that will be cancelled needs no review.
    const still = waiting.value.filter((one) => cancelFor(store, row.session_id, one) === undefined);
    const reviews = reviewsIn(target.value, still);
    if (said === 0) {
      if (reviews.length === 0) {
        context.terminal.out.line(`${nameOf(target.value)} has no open review.`);
        tellNext(context.terminal.out, `bosun status ${row.session_id}`);
      }
      for (const one of reviews)
        showWaiting(context.terminal.out, row.session_id, one, keptFor(store, row.session_id, one));
      return ok(EXIT_DONE);
    }
    const meant = onlyReview(target.value, reviews);
    if (!meant.ok) return meant;
    const decision = decisionOn(row, meant.value, options);
    if (!decision.ok) return decision;
    const kept = keptFor(store, row.session_id, meant.value);
    const what = meant.value.kind === "review" ? `The work on ${meant.value.ticket_id}` : "The result";
    if (kept !== undefined) return err(saidAlready(row.session_id, what, kept));
    return putToOwner(context, store, row, decision.value);
  });
}

/** The open reviews: of the named ticket, else all of them and the session's result. */
function reviewsIn({ ticket_id }: Target, waiting: readonly Waiting[]): Waiting[] {
  return waiting.filter((one) => {
    if (one.kind === "review") return ticket_id === undefined || one.ticket_id === ticket_id;
    return ticket_id === undefined && one.kind === "approval" && one.about === "result";
  });
}

function nameOf({ row, ticket_id }: Target): string {
  return ticket_id === undefined ? row.session_id : `${ticket_id} of ${row.session_id}`;
}

function onlyReview(target: Target, reviews: readonly Waiting[]): Result<Waiting, Failure> {
  const { row } = target;
  const [only, another] = reviews;
  if (only === undefined) {
    return err(
      failure("usage", `${nameOf(target)} has no open review.`, {
        hint: `See bosun status ${row.session_id}.`,
      }),
    );
  }
  if (another !== undefined) {
    const several = reviews.map((one) => (one.kind === "review" ? one.ticket_id : "its result")).join(", ");
    return err(
      failure("usage", `${row.session_id} has several open reviews: ${several}.`, { hint: "Name one of the tickets." }),
    );
  }
  return ok(only);
}

function decisionOn(row: SessionRow, only: Waiting, options: ReviewOptions): Result<PersonMessage, Failure> {
  if (only.kind === "review") {
    if (options.reject === true) {
      return err(
        failure("usage", "A ticket's work can only be approved or sent back.", {
          hint: `Use --approve or --changes; to cancel the ticket: bosun cancel ${row.session_id} ${only.ticket_id}.`,
        }),
      );
    }
    if (options.changes === undefined && only.failed_checks !== undefined) {
      return err(
        failure("usage", `The work on ${only.ticket_id} cannot be approved: its checks failed.`, {
          hint: `Send it back: bosun review ${row.session_id} ${only.ticket_id} --changes "…". What failed: bosun log ${row.session_id} ${only.ticket_id}.`,
        }),
      );
    }
    const changes: JsonObject = options.changes === undefined ? {} : { requested_changes: [options.changes] };
    const decision = options.changes === undefined ? "approved" : "changes_requested";
    return ok({ payload_type: "review", payload: { decision, ticket_id: only.ticket_id, ...changes } });
  }
  const decision = options.approve === true ? "approved" : options.reject === true ? "rejected" : "changes_requested";
  const notes: JsonObject = options.changes === undefined ? {} : { notes: options.changes };
  return ok({ payload_type: "approval", payload: { decision, ask_id: only.ask_id, ...notes } });
}
