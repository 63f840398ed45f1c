import { isEmbedded } from "../../config/role-defaults.ts";
import { realPath } from "../../lib/files.ts";
import { gitIn } from "../../lib/git.ts";
import { permissionsOf, type Role } from "../../protocol/roles.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeLine, wrapped } from "../../ui/display.ts";
import { counted } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { confirmHere, type Declined } from "../interaction/confirm.ts";
import { changeableWords } from "../lookup/changeable-programs.ts";
import { runningSessions } from "../lookup/resolve.ts";
import { unaskedWords } from "../lookup/unasked.ts";
import type { RunInput } from "../options/run-input.ts";
import type { RunOptions } from "../options/run-options.ts";

/** Maximum number of files that are named. */
const NAMED = 5;

const ALLOW = "`bosun init` and allowed_commands allow commands for the whole project.";
const NOBODY = {
  stop: `Nobody is here to answer: what is asked for waits, and the session stops once nothing else can go on. ${ALLOW}`,
  deny: `Nobody is here to answer: what is asked for is denied. ${ALLOW}`,
};

/**
 * Says what the agents of a new session may do without asking, and warns of what they may change in its workspace, if any of them writes. Asks the person
 * at this terminal, before a dashboard hides it, whether to begin beside other sessions or with uncommitted files; returns the exit code if they decline.
 */
export async function warnBefore(
  context: CommandContext,
  reader: StoreReader,
  { session: { workspace, roles }, copies }: RunInput,
  { ask, approve_plans, unanswered }: RunOptions,
): Promise<Declined | undefined> {
  if (roles.every((role) => permissionsOf(role).write === "none")) return undefined;
  const { err } = context.terminal;
  const unasked = unaskedWords(roles, workspace);
  const nobody =
    !ask && unasked.some((line) => line.includes("asks you")) ? [NOBODY[unanswered === "stop" ? "stop" : "deny"]] : [];
  for (const line of [...unasked, ...nobody].flatMap((one) => wrapped(safeLine(one), err.width, 0))) err.line(line);
  if (copies !== undefined) return undefined;
  const isShared = warnOfOthers(context, reader, workspace);
  const isDirty = await warnOfWorkspace(context, workspace, roles);
  if (!(isShared || isDirty) || !ask || approve_plans) return undefined;
  const declined = await confirmHere(context, "Begin all the same?", "yes");
  if (declined !== undefined) err.line("Nothing was begun.");
  return declined;
}

/** Warns that other sessions of this home work in the workspace of a new one; false if none does. */
function warnOfOthers({ terminal: { err } }: CommandContext, reader: StoreReader, workspace: string): boolean {
  const here = realPath(workspace);
  const others = runningSessions(reader).filter((row) => realPath(row.workspace) === here);
  if (others.length === 0) return false;
  const names = others.map(({ session_id }) => session_id).join(", ");
  const work = others.length === 1 ? "works" : "work";
  err.line(err.style("yellow", `${names} also ${work} in this folder: agents may overwrite each other's changes.`));
  return true;
}

/**
 * Warns of what agents may change in the workspace of a new session: programs of other roles, and uncommitted files. The embedded crew only runs its plan.
 * False without uncommitted files.
 */
async function warnOfWorkspace(
  { terminal: { err }, environment }: CommandContext,
  workspace: string,
  roles: readonly Role[],
): Promise<boolean> {
  for (const what of changeableWords(roles, workspace, environment.PATH)) err.line(err.style("yellow", safeLine(what)));
  const files = roles.every(isEmbedded) ? [] : await uncommittedFiles(workspace, environment);
  if (files.length === 0) return false;
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : "";
  const names = files.slice(0, NAMED).map((file) => safeLine(file));
  const what = `Git has uncommitted changes here in ${counted(files.length, "file")}: ${names.join(", ")}${more}.`;
  err.line(err.style("yellow", what));
  const advice =
    "Agents work in this folder and may change these files, too. Commit or stash them first (git stash -u), or name a clone with --cwd.";
  for (const line of wrapped(advice, err.width, 0)) err.line(line);
  return true;
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
