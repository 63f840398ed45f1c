import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { checkSessionId } from "../store/sessions.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { openHome, withHome } from "./context/home.ts";
import { addRunOptions, conflict, readRunOptions, type RunFlags } from "./options/run-options.ts";
import { addRegistryOptions } from "./options/registry.ts";
import { addSettingOptions } from "./options/ready.ts";
import { readRunInput, type RunInputOptions } from "./options/run-input.ts";
import { begin, resumeSame } from "./driver/begin.ts";
import { runningSessions, sessionCalled } from "./lookup/resolve.ts";
import { newSessionId } from "./lookup/id.ts";
import { isEmbedded } from "../config/role-defaults.ts";
import { realPath } from "../lib/files.ts";
import { gitIn } from "../lib/git.ts";
import type { Role } from "../protocol/roles.ts";
import type { StoreReader } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { counted } from "../ui/words.ts";
import { confirmHere, type Declined } from "./interaction/confirm.ts";
import { changeableWords } from "./lookup/changeable-programs.ts";

interface RunCommandOptions extends RunInputOptions, RunFlags {
  readonly base?: string;
  readonly session?: string;
}

/** `bosun run`: starts a session for a requirement. */
export function register(command: Command): Action<RunCommandOptions> {
  command
    .argument("[requirement]", "what to do; - reads standard input")
    .option("--file <file>", "read the requirement from this file; - reads standard input")
    .option("--plan <file>", "use your own plan, as YAML or JSON; - reads standard input")
    .option("--plan-only", "stop when there is a plan, for you to review")
    .option("--base <ref>", "the commit that worktrees start from")
    .option("--session <id>", "the session's id; an existing one continues if its inputs are the same");
  addSettingOptions(command);
  addRegistryOptions(command);
  addRunOptions(command);
  command.showHelpAfterError(QUOTE_HINT);
  return runSession;
}

const QUOTE_HINT = "(Quote arguments that contain spaces; `bosun help run` lists the options)";

async function runSession(
  context: CommandContext,
  [words]: readonly string[],
  options: RunCommandOptions,
): Promise<Exit> {
  const refused = notYet(options);
  if (refused) return err(refused);
  if (options.session !== undefined) {
    const named = checkSessionId(options.session);
    if (!named.ok) return named;
  }
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const input = await readRunInput(context, words, options, runOptions.value);
  if (!input.ok) return input;
  return withHome(openHome(context), async (home) => {
    const { store } = home;
    const existing = sessionCalled(store, options.session);
    if (!existing.ok) return existing;
    if (existing.value === undefined) {
      const { ask, approve_plans } = runOptions.value;
      const { workspace, roles } = input.value.session;
      const declined = await warnOfOthers(context, store, workspace, ask && !approve_plans);
      if (declined !== undefined) return ok(declined);
      await warnOfWorkspace(context, workspace, roles);
    }
    const session_id = options.session ?? newSessionId("schedule");
    return existing.value
      ? resumeSame(context, home, existing.value, input.value, runOptions.value)
      : begin(context, home, session_id, input.value, runOptions.value);
  });
}

function notYet(options: RunCommandOptions): Failure | undefined {
  if (options.base !== undefined) {
    return failure("usage", "--base needs worktrees, which are not supported yet.", {
      hint: "Leave it out; --cwd names the workspace.",
    });
  }
  const asking = options.planOnly === true ? "--plan-only" : options.askPlan === true ? "--ask-plan" : undefined;
  return options.yes === true && asking !== undefined ? conflict("--yes", asking) : undefined;
}

/** Maximum number of files that are named. */
const NAMED = 5;

/**
 * Warns that other sessions of this home work in the workspace of a new one. With `ask`, asks the person at this terminal whether to begin;
 * returns the exit code if they decline.
 */
export async function warnOfOthers(
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
export async function warnOfWorkspace(
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
