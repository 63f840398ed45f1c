import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { checkSessionId } from "../store/sessions.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { openHome, withHome } from "./context/home.ts";
import { addRunOptions, conflict, type RunFlags, readRunOptions } from "./options/run-options.ts";
import { addRegistryOptions } from "./options/registry.ts";
import { addSettingOptions } from "./options/ready.ts";
import { readRunInput, type RunInputOptions } from "./options/run-input.ts";
import { begin, resumeSame } from "./driver/begin.ts";
import { warnOfOthers, warnOfWorkspace } from "./driver/workspace-warnings.ts";
import { sessionCalled } from "./lookup/resolve.ts";
import { newSessionId } from "./lookup/id.ts";

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
