import type { Command } from "commander";
import { err } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addBeginOptions, beginOrResume, type BeginOptions } from "./driver/begin.ts";
import { addPlanOptions } from "./options/ready.ts";
import { addSeatOptions } from "./options/registry.ts";
import { readRunInput } from "./options/run-input.ts";
import { conflict } from "./options/run-options.ts";

interface RunCommandOptions extends BeginOptions {
  readonly base?: string;
}

/** `bosun run`: starts a session for a requirement. */
export function register(command: Command): Action<RunCommandOptions> {
  command
    .argument("[requirement]", "what to do; - reads standard input")
    .option("--plan <file>", "use your own plan, as YAML or JSON; - reads standard input")
    .option("--plan-only", "stop when there is a plan, for you to review")
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
  const refused = notYet(options);
  if (refused) return err(refused);
  return beginOrResume(context, options, (runOptions) => readRunInput(context, words, options, runOptions));
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
