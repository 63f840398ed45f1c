import { existsSync } from "node:fs";
import { landings } from "../../copies/landing.ts";
import { repositoryOf } from "../../copies/place.ts";
import { isOver, shownStatus } from "../../kernel/presentation.ts";
import { gitIn } from "../../lib/git.ts";
import { err } from "../../lib/result.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { type Copies, copiesOf, placeOf } from "../../runtime/copies/copies.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { StoreReader } from "../../store/store.ts";
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
    const git = (own: Readonly<Record<string, string>>) => gitIn({ ...context.environment, ...own });
    const place = placeOf(session_id, sessionPaths(home, session_id), opened.repository, git);
    return work({ ...found, opened, copies: copiesOf(place, opened.workspace, opened.repository) });
  });
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
    return { words: `${words}, and that into ${shortBranch(landing.branch)}.`, next: [`bosun undo ${session_id}`] };
  const commands = ["diff", "merge", ...(isWhole ? ["discard"] : [])];
  const next = merged === 0 ? [] : commands.map((name) => `bosun ${name} ${session_id}`);
  const where = landed === undefined ? "your checkout is untouched" : "taken back from your branch";
  return { words: `${words}; ${where}.`, next };
}

/** A branch as a person types it. */
export function shortBranch(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}
