import type { Command } from "commander";
import { cutLanding, land, type Landing, landings } from "../copies/landing.ts";
import { planMerge, planUndo, type Planned } from "../copies/landing-plan.ts";
import { difference } from "../copies/queue.ts";
import { repositoryOf } from "../copies/place.ts";
import { shownStatus } from "../kernel/presentation.ts";
import { ok } from "../lib/result.ts";
import { shellWord } from "../lib/shell-word.ts";
import { fails, type Failure, failure, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_FAILED } from "../runtime/exit.ts";
import type { Checked } from "../runtime/criteria.ts";
import { recoverCopies } from "../runtime/copies/recover.ts";
import type { Store } from "../store/store.ts";
import { safeLine, safeText } from "../ui/display.ts";
import { failedChecks, lastLines } from "../ui/failure-lines.ts";
import { counted, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { tellFailure } from "./context/exit-code.ts";
import { alone, checkedMerge, type Held } from "./driver/copies.ts";
import { publish, pullRequestOf } from "./driver/pull-request.ts";
import { confirmHere } from "./interaction/confirm.ts";
import { type FoundCopies, shortBranch, withCopies } from "./lookup/copies.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { ANY_SESSION, WATCH } from "./lookup/resolve.ts";
import { readSession } from "./lookup/view.ts";

interface MergeOptions {
  readonly into?: string;
  readonly squash?: boolean;
  readonly sign?: boolean;
  readonly partial?: boolean;
  readonly pr?: boolean;
  readonly input?: boolean;
}

/** `bosun merge`: brings what a session has merged into a branch of the person's, and into its checkout. */
export function register(command: Command): Action<MergeOptions> {
  command
    .argument(...ANY_SESSION)
    .option("--into <branch>", "this branch, which is made if it is not there (default: that of the start)")
    .option("--squash", "as one commit, without the tickets' own")
    .option("--sign", "signed as your git signs")
    .option("--partial", "even if not every ticket is merged")
    .option("--pr", "into a branch of its own, which is pushed, and open a pull request with gh")
    .option("--no-input", "never ask at this terminal");
  return merge;
}

/** `bosun undo`: takes the last merge back by a commit, which keeps what came later. */
export function registerUndo(command: Command): Action<object> {
  command.argument(...ANY_SESSION);
  return undo;
}

async function merge(context: CommandContext, [named]: readonly string[], options: MergeOptions): Promise<Exit> {
  return withCopies(openHomeOf, context, named, WATCH, async (found) => {
    const { session_id, copies } = found;
    const { repository, place } = copies;
    const base = options.into === undefined ? repository.branch : `refs/heads/${options.into}`;
    if (base === undefined)
      return fails("usage", `No branch was checked out when ${session_id} began, so there is none to merge into.`, {
        hint: `Name one, which is made if it is not there: bosun merge ${session_id} --into BRANCH`,
      });
    const asked = options.pr === true ? await pullRequestOf(copies, base) : ok(undefined);
    if (!asked.ok) return asked;
    const request = asked.value;
    const branch = request?.branch ?? base;
    return landAlone(context, found, {
      isThis: (landing) => landing.undoes === undefined && landing.branch === branch,
      plan: async (held) => {
        const stopped = await whyPartial(context, held, options);
        if (!stopped.ok) return stopped;
        if (stopped.value !== undefined) return ok(stopped.value);
        const { squash = false, sign = false } = options;
        return planMerge(place, aimOf(held, branch, "Merge"), { squash, sign, base });
      },
      goOn: async (held, commit) =>
        request === undefined ? nextIs(context, "undo", held) : publish(context, held, request, commit),
    });
  });
}

async function undo(context: CommandContext, [named]: readonly string[]): Promise<Exit> {
  return withCopies(openHomeOf, context, named, WATCH, async (found) =>
    landAlone(context, found, {
      isThis: ({ undoes }) => undoes !== undefined,
      plan: async (held) => {
        const { session_id, copies } = held;
        const last = landings(copies.place)?.at(-1);
        const hint = `bosun diff ${session_id}`;
        if (last === undefined) return fails("usage", `Nothing of ${session_id} is in a branch of yours.`, { hint });
        return planUndo(copies.place, aimOf(held, last.branch, "Undo"), last);
      },
      goOn: async (held) => nextIs(context, "diff", held),
    }),
  );
}

interface Course {
  /** Whether the command was killed in the middle of this, so that nothing needs a plan. */
  readonly isThis: (landing: Landing) => boolean;
  /** May also be the exit code of a person who does not want it. */
  readonly plan: (held: Held) => Promise<Fallible<Planned | number>>;
  /** What follows once a commit is in the branch. */
  readonly goOn: (held: Held, commit: string) => Promise<Exit>;
}

/** First finishes a merge or undo that was killed. Then writes what is planned into the person's repository, a merge once its checks pass. */
function landAlone(context: CommandContext, found: FoundCopies<Store>, { isThis, plan, goOn }: Course): Promise<Exit> {
  return alone(context, found, async (held) => {
    const { place } = held.copies;
    const done = async (landing: Landing) => {
      await tellLanded(context, held, landing);
      return goOn(held, landing.made);
    };
    const cutOff = cutLanding(place);
    const ended = await recoverCopies(held.around, held.row, held.opened);
    if (!ended.ok) return ended.error.code === "conflict" ? refused(context, ended.error) : ended;
    if (cutOff !== undefined) {
      const what = cutOff.undoes === undefined ? "merge into" : "undo in";
      context.terminal.err.line(`The ${what} ${safeLine(shortBranch(cutOff.branch))} that was cut off is done now.`);
      if (isThis(cutOff)) return done(cutOff);
    }
    const planned = await plan(held);
    if (!planned.ok) return planned;
    if (typeof planned.value === "number") return ok(planned.value);
    if (planned.value.state === "refused") return notLanded(context, held, planned.value);
    const { landing } = planned.value;
    if (landing.made === landing.old) return goOn(held, landing.made);
    const checked = landing.undoes === undefined ? await checkedMerge(context, held, landing.made) : ok([]);
    if (!checked.ok) return checked;
    if (typeof checked.value === "number") return ok(checked.value);
    const red = checked.value.filter(({ passed }) => !passed);
    if (red.length > 0) return tellRed(context, red);
    const landed = await land(place, landing);
    if (!landed.ok) return landed;
    return landed.value.state === "landed" ? done(landing) : notLanded(context, held, landed.value);
  });
}

function aimOf({ around, row, session_id, copies: { repository } }: Held, branch: string, verb: string) {
  const about = row.requirement?.split("\n")[0] ?? row.mode;
  const { root } = repository;
  const subject = `${verb} ${session_id}: ${about}`;
  return { root, branch, subject, at: around.clock.now() };
}

/** Returns the exit code if a person does not want a part of a session's work. */
async function whyPartial(
  context: CommandContext,
  { home, store, row, session_id }: Held,
  { partial = false, input = true }: MergeOptions,
): Promise<Fallible<number | undefined>> {
  const view = await readSession(store, home, row);
  if (!view.ok) return view;
  const { presentation, tickets } = view.value;
  const open = tickets.filter(({ status }) => shownStatus(presentation, status).stage !== "done");
  if (partial || (row.state === "closed" && open.length === 0)) return ok(undefined);
  const names = open.map(({ ticket_id }) => ticket_id).join(", ");
  const what =
    open.length === 0
      ? `${session_id} is not closed: it is ${row.state}.`
      : `Not merged: ${open.length} of ${counted(tickets.length, presentation.subjectName)} (${names}).`;
  if (!input || !context.terminal.hasPerson)
    return fails("person_needed", what, { hint: `To merge the others: bosun merge ${session_id} --partial` });
  context.terminal.err.line(safeLine(what));
  return ok(await confirmHere(context, "Merge what is there?", "no"));
}

function tellRed(context: CommandContext, red: readonly Checked[]): Exit {
  const { err } = context.terminal;
  const message = `Checks fail on the result, so nothing was written: ${failedChecks({ results: red }).join("; ")}.`;
  refused(context, failure("conflict", message));
  const limits = { width: err.width, last_lines: 10 };
  for (const { output } of red) for (const line of lastLines(output, limits)) err.line(err.style("dim", line));
  return ok(EXIT_FAILED);
}

/** What a person sees once a branch of theirs has moved. */
async function tellLanded({ terminal: { out } }: CommandContext, { session_id, copies }: Held, landing: Landing) {
  const { made, branch, undoes } = landing;
  const stat = await difference(copies.place, { from: `${made}^1`, to: made, stat: true });
  if (stat.ok) for (const line of stat.value.split("\n")) out.line(safeText(line));
  const what = undoes === undefined ? "is merged into" : "is taken back from";
  out.line(`${session_id} ${what} ${safeLine(shortBranch(branch))}, with the commit ${made.slice(0, 12)}.`);
}

function nextIs({ terminal }: CommandContext, command: "undo" | "diff", { session_id }: Held): Exit {
  tellNext(terminal.out, `bosun ${command} ${session_id}`);
  return ok(EXIT_DONE);
}

function notLanded(
  context: CommandContext,
  { copies: { place } }: Held,
  { cause, why, paths, on }: Extract<Planned, { state: "refused" }>,
): Exit {
  const where = paths.length > 0 ? `: ${paths.join(", ")}` : "";
  const there = on ? `git switch ${on.map(shellWord).join(" ")} && ` : "";
  const hints = {
    conflict: `To resolve it yourself: ${there}git fetch ${shellWord(repositoryOf(place))} refs/bosun/session && git merge FETCH_HEAD`,
    later_changes: "Revert it by hand, with git revert.",
    moved: "Try again.",
    not_clean: "Commit, end or put aside what is yours there, then try again.",
  };
  return refused(context, failure("conflict", `Nothing was written: ${why}${where}.`, { hint: hints[cause] }));
}

/** Tells why nothing was done, which is no trouble of the environment. */
function refused({ terminal }: CommandContext, why: Failure): Fallible<number> {
  tellFailure(terminal, why);
  return ok(EXIT_FAILED);
}
