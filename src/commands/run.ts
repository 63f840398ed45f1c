import { type Command, Option } from "commander";
import { fails } from "../protocol/failure.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addBeginOptions, beginOrResume, type BeginOptions } from "./driver/begin.ts";
import { addPlanOptions } from "./options/ready.ts";
import { addSeatOptions } from "./options/registry.ts";
import { readRunInput } from "./options/run-input.ts";

interface RunCommandOptions extends BeginOptions {
  readonly base?: string;
}

/** `bosun run`: starts a session for a requirement. */
export function register(command: Command): Action<RunCommandOptions> {
  command
    .argument("[requirement]", "what to do; - reads standard input")
    .option("--plan <file>", "use your own plan, as YAML or JSON; - reads standard input")
    .addOption(new Option("--plan-only", "stop when there is a plan, for you to review").conflicts("yes"))
    .option("--base <ref>", "the commit that worktrees start from");
  addBeginOptions(command, "requirement");
  addPlanOptions(command);
  addSeatOptions(command);
  return runSession;
}

async function runSession(
  context: CommandContext,
  [words]: readonly string[],
  options: RunCommandOptions,
): Promise<Exit> {
  if (options.base !== undefined)
    return fails("usage", "--base needs worktrees, which are not supported yet.", {
      hint: "Leave it out; --cwd names the workspace.",
    });
  return beginOrResume(context, options, (runOptions) => readRunInput(context, words, options, runOptions));
}
