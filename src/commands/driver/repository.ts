import { installedIn, keepGiven } from "../../copies/given.ts";
import { examined, type UserRepository } from "../../copies/preflight.ts";
import { makeRepository } from "../../copies/repository.ts";
import { defined } from "../../lib/json.ts";
import { type Git, gitIn } from "../../lib/git.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import { placeOf, type SessionRepository } from "../../runtime/copies/copies.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { safeLine } from "../../ui/display.ts";
import { counted } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { confirmHere, type Declined } from "../interaction/confirm.ts";
import type { RunInput } from "../options/run-input.ts";
import type { RunOptions } from "../options/run-options.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";

/** The most paths that are named. */
const NAMED = 5;

/** The largest file of `.worktreeinclude` that tickets are given, in bytes. */
const MAX_GIVEN_BYTES = 10 * 1024 * 1024;

/**
 * Looks at the person's repository before a session whose tickets get copies of it, and fixes the commit from which it starts. Uncommitted changes are
 * asked about; `person_needed` if nobody is there. Returns the exit code if the person declines.
 */
export async function chooseBase(
  context: CommandContext,
  home: string,
  input: RunInput,
  { ask, approve_plans }: RunOptions,
): Promise<Fallible<RunInput | Declined>> {
  const { copies } = input;
  if (copies === undefined) return ok(input);
  const { base: named, include_dirty, is_chosen } = copies;
  const { session } = input;
  const git = gitIn({ ...context.environment });
  const { err } = context.terminal;
  if (!is_chosen && named === undefined && !(await hasCommit(git, session.workspace))) {
    err.line("The repository has no commit yet, so agents work in the workspace itself, not in copies.");
    return ok({
      ...input,
      copies: undefined,
      session: { ...session, config: { ...session.config, isolation: "none" as const } },
    });
  }
  const found = await examined(git, session.workspace, home, named);
  if (!found.ok) return found;
  const user = found.value;
  const chosen = { ...input, copies: { ...copies, base: user.base } };
  for (const line of remarks(user)) remark(context, line);
  if (user.dirty.length === 0 || named !== undefined || include_dirty === true) return ok(chosen);
  const what = `Git has uncommitted changes in ${counted(user.dirty.length, "file")}: ${listed(user.dirty)}.`;
  if (!ask || approve_plans)
    return fails("person_needed", `${what} Tickets work in copies, which start from a commit.`, {
      hint: "--base HEAD leaves them out, --include-dirty takes them in.",
    });
  remark(context, what);
  const declined = await confirmHere(context, "Start from the last commit, without them?", "yes");
  if (declined !== undefined) err.line("Nothing was begun. To take them in: --include-dirty.");
  return ok(declined ?? chosen);
}

async function hasCommit(git: Git, workspace: string): Promise<boolean> {
  return git(workspace, ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).then(
    () => true,
    () => false,
  );
}

/** What a person should know of their repository before agents work on copies of it. */
function remarks({ untracked, submodules, hooks, filters, isShallow }: UserRepository): string[] {
  return [
    ...(untracked.length > 0 ? [`Not in the copies, because git does not know them: ${listed(untracked)}.`] : []),
    ...(submodules.length > 0 ? [`Submodules are empty in the copies: ${listed(submodules)}.`] : []),
    ...(filters.length > 0 ? [`Filters do not run, so files come as they are committed: ${listed(filters)}.`] : []),
    ...(hooks.length > 0 ? [`Hooks do not run in the copies: ${listed(hooks)}. checks.merge can do their work.`] : []),
    ...(isShallow ? ["The repository is shallow, and so are the copies."] : []),
  ];
}

function remark({ terminal: { err } }: CommandContext, line: string): void {
  err.line(err.style("yellow", safeLine(line)));
}

function listed(paths: readonly string[]): string {
  return `${paths.slice(0, NAMED).join(", ")}${paths.length > NAMED ? ` and ${paths.length - NAMED} more` : ""}`;
}

/** Makes the repository of a new session, if it has one. Nothing is written in the person's. */
export async function makeSessionRepository(
  context: CommandContext,
  { home, gitWith, clock }: RuntimeEnvironment,
  session_id: string,
  { copies, session: { workspace, config } }: RunInput,
): Promise<Fallible<SessionRepository | undefined>> {
  if (copies === undefined || gitWith === undefined) return ok(undefined);
  const found = await examined(gitWith({}), workspace, home, copies.base);
  if (!found.ok) return found;
  const user = found.value;
  const { root, branch, committer } = user;
  const known = { root, base: user.base, trusted: false, ...defined({ branch, committer }) };
  const place = placeOf(session_id, sessionPaths(home, session_id), known, gitWith);
  const includeDirty = copies.include_dirty === true ? clock.now() : undefined;
  const made = await makeRepository(place, user, defined({ includeDirty }));
  if (!made.ok) return made;
  const folders = config.worktree?.copy ? ok(config.worktree.copy) : await installedIn(place, root);
  if (!folders.ok) return folders;
  const given = await keepGiven(place, root, { folders: folders.value, maxBytes: MAX_GIVEN_BYTES });
  if (!given.ok) return given;
  const { left } = given.value;
  if (left.length > 0) remark(context, `Not in the copies, because missing or too large: ${listed(left)}.`);
  return ok({ ...known, base: made.value.base });
}
