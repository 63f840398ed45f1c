import { isEmbedded } from "../../config/role-defaults.ts";
import { realPath } from "../../lib/files.ts";
import { gitIn } from "../../lib/git.ts";
import { permissionsOf, type Role } from "../../protocol/roles.ts";
import type { NewSessionInput } from "../../runtime/create.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import { counted } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { confirmHere, type Declined } from "../interaction/confirm.ts";
import { changeableWords } from "../lookup/changeable-programs.ts";
import { runningSessions } from "../lookup/resolve.ts";
import type { RunOptions } from "../options/run-options.ts";

/** Maximum number of files that are named. */
const NAMED = 5;

/**
 * Warns of what the agents of a new session may change in its workspace, if any of them writes. Asks the person at this terminal whether to
 * begin beside other sessions; returns the exit code if they decline.
 */
export async function warnBefore(
  context: CommandContext,
  reader: StoreReader,
  { workspace, roles }: Pick<NewSessionInput, "workspace" | "roles">,
  { ask, approve_plans }: RunOptions,
): Promise<Declined | undefined> {
  if (roles.every((role) => permissionsOf(role).write === "none")) return undefined;
  const declined = await warnOfOthers(context, reader, workspace, ask && !approve_plans);
  if (declined === undefined) await warnOfWorkspace(context, workspace, roles);
  return declined;
}

/**
 * Warns that other sessions of this home work in the workspace of a new one. With `ask`, asks the person at this terminal whether to begin;
 * returns the exit code if they decline.
 */
async function warnOfOthers(
  context: CommandContext,
  reader: StoreReader,
  workspace: string,
  ask: boolean,
): Promise<Declined | undefined> {
  const here = realPath(workspace);
  const others = runningSessions(reader).filter((row) => realPath(row.workspace) === here);
  if (others.length === 0) return undefined;
  const { err } = context.terminal;
  const names = others.map(({ session_id }) => session_id).join(", ");
  const work = others.length === 1 ? "works" : "work";
  err.line(err.style("yellow", `${names} also ${work} in this folder: agents may overwrite each other's changes.`));
  const declined = ask ? await confirmHere(context, "Begin all the same?", "yes") : undefined;
  if (declined !== undefined) err.line("Nothing was begun.");
  return declined;
}

/** Warns of what agents may change in the workspace of a new session: programs of other roles, and uncommitted files. The embedded crew only runs its plan. */
async function warnOfWorkspace(
  { terminal: { err }, environment }: CommandContext,
  workspace: string,
  roles: readonly Role[],
): Promise<void> {
  for (const what of changeableWords(roles, workspace, environment.PATH)) err.line(err.style("yellow", safeLine(what)));
  const files = roles.every(isEmbedded) ? [] : await uncommittedFiles(workspace, environment);
  if (files.length === 0) return;
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : "";
  const names = files.slice(0, NAMED).map((file) => safeLine(file));
  const what = `Git has uncommitted changes here in ${counted(files.length, "file")}: ${names.join(", ")}${more}.`;
  err.line(err.style("yellow", what));
  err.line(
    "Agents work in this folder and may change these files, too. Commit or stash them first (git stash -u), or name a clone with --cwd.",
  );
}

/** The files with uncommitted changes below a folder; none without a repository, or without git. */
async function uncommittedFiles(
  folder: string,
  environment: CommandContext["environment"],
): Promise<readonly string[]> {
  const status = ["status", "--porcelain=v1", "-z", "--no-renames", "."] as const;
  const listed = await gitIn(environment)(folder, status, { timeout: 20_000 }).catch(() => "");
  return listed.split("\0").flatMap((entry) => (entry === "" ? [] : [entry.slice(3)]));
}
