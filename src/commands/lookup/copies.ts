import { existsSync } from "node:fs";
import { landings } from "../../copies/landing.ts";
import { type Place, repositoryOf } from "../../copies/place.ts";
import { difference } from "../../copies/queue.ts";
import { isOver, shownStatus } from "../../kernel/presentation.ts";
import { gitIn } from "../../lib/git.ts";
import { err } from "../../lib/result.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { type Copies, copiesOf, placeOf, type SessionRepository } from "../../runtime/copies/copies.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { StoreReader } from "../../store/store.ts";
import { isResult, type Waiting } from "../../ui/waiting.ts";
import { counted } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { type Found, withSession } from "./homes.ts";
import type { Policy, Typed } from "./resolve.ts";
import { openedWith } from "./state.ts";
import type { SessionView } from "./view.ts";

/** A session whose tickets work in copies of a repository. */
export interface FoundCopies<S extends StoreReader> extends Found<S> {
  readonly copies: Copies;
  readonly opened: PayloadByType["session_opened"];
}

/** Runs work with such a session, like `withSession`. Fails with `usage` for one without copies, and with `not_found` for one that was discarded. */
export function withCopies<S extends StoreReader, T>(
  open: Parameters<typeof withSession<S, T>>[0],
  context: CommandContext,
  typed: Typed,
  policy: Policy,
  work: (found: FoundCopies<S>) => Promise<Fallible<T>>,
): Promise<Fallible<T>> {
  return withSession(open, context, typed, policy, async (found) => {
    const { home, session_id, store } = found;
    const opened = openedWith(store, session_id);
    if (opened?.repository === undefined)
      return fails("usage", `${session_id} has no copies: its agents worked in the workspace itself.`, {
        hint: `Git shows what has changed there: git -C ${shellWord(found.row.workspace)} diff`,
      });
    const lost = whyLost(home, session_id);
    if (lost) return err(lost);
    const place = placeIn(context, found, opened.repository);
    return work({ ...found, opened, copies: copiesOf(place, opened.workspace, opened.repository) });
  });
}

type Stored = Pick<Found<StoreReader>, "home" | "session_id">;

function placeIn({ environment }: CommandContext, { home, session_id }: Stored, repository: SessionRepository): Place {
  const git = (own: Readonly<Record<string, string>>) => gitIn({ ...environment, ...own });
  return placeOf(session_id, sessionPaths(home, session_id), repository, git);
}

/** The most lines of the summary of a difference. */
const MOST_LINES = 20;

/** What a session with copies has merged, for whoever is asked to accept it: a line for each file, and the command that shows all. */
export async function mergedLines(
  context: CommandContext,
  found: Stored & { readonly store: StoreReader },
): Promise<string[] | undefined> {
  const { home, session_id, store } = found;
  const repository = openedWith(store, session_id)?.repository;
  if (repository === undefined || whyLost(home, session_id) !== undefined) return undefined;
  const stat = await difference(placeIn(context, found, repository), { stat: true });
  if (!stat.ok) return [stat.error.message];
  const lines = stat.value.split("\n").map((line) => line.trim() || "Nothing has changed.");
  const hidden = lines.length - MOST_LINES;
  // The last line sums up.
  if (hidden > 0) lines.splice(MOST_LINES - 2, hidden + 1, `and ${hidden + 1} more files`);
  return [...lines, `all of it: bosun diff ${session_id}`];
}

/** The same decisions, with what is merged for one about the result. */
export function withChanges<W extends Waiting>(
  context: CommandContext,
  found: Parameters<typeof mergedLines>[1],
  waiting: readonly W[],
): Promise<W[]> {
  const added = async (one: W) => (isResult(one) ? { ...one, changes: await mergedLines(context, found) } : one);
  return Promise.all(waiting.map(added));
}

/** Why the repository of a session that had one is not there; undefined if it is. */
export function whyLost(home: string, session_id: string): Failure | undefined {
  const { copies, discarded } = sessionPaths(home, session_id);
  const repository = repositoryOf({ folder: copies });
  if (existsSync(repository)) return undefined;
  const hint = `To bring it back: bosun discard --restore ${session_id}`;
  if (existsSync(discarded)) return failure("not_found", `What ${session_id} made was discarded.`, { hint });
  return failure("not_found", `The repository of ${session_id} is not there: ${repository}.`, {
    hint: "`bosun prune --purge` deletes what was discarded.",
  });
}

export interface Whereabouts {
  readonly words: string;
  readonly next: readonly string[];
}

/** Where the work of a session with copies is, and what a person can do with it; undefined for other sessions. */
export function whereabouts(
  home: string,
  session_id: string,
  { presentation, tickets }: Pick<SessionView, "presentation"> & { readonly tickets: readonly { status: string }[] },
): Whereabouts | undefined {
  const { copies, discarded } = sessionPaths(home, session_id);
  if (!existsSync(repositoryOf({ folder: copies }))) {
    if (!existsSync(discarded)) return undefined;
    return { words: "What it made is discarded.", next: [`bosun discard --restore ${session_id}`] };
  }
  const merged = tickets.filter(({ status }) => shownStatus(presentation, status).stage === "done").length;
  const isWhole = tickets.every(({ status }) => isOver(presentation, status));
  const words = `${merged} of ${counted(tickets.length, presentation.subjectName)} merged`;
  const landed = landings({ folder: copies });
  const landing = landed?.at(-1);
  if (landing !== undefined)
    return { words: `${words}; last merged into ${shortBranch(landing.branch)}.`, next: [`bosun undo ${session_id}`] };
  const commands = ["diff", "merge", ...(isWhole ? ["discard"] : [])];
  const next = merged === 0 ? [] : commands.map((name) => `bosun ${name} ${session_id}`);
  const where = landed === undefined ? "your checkout is untouched" : "taken back from your branch";
  return { words: `${words}; ${where}.`, next };
}

/** A branch as a person types it. */
export function shortBranch(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}
