import { type Command, Option } from "commander";
import type { Action } from "./context/command.ts";
import { addBeginOptions, beginOrResume, type BeginOptions } from "./driver/begin.ts";
import { addPlanOptions } from "./options/ready.ts";
import { addSeatOptions } from "./options/registry.ts";
import { readRunInput } from "./options/run-input.ts";

/** `bosun run`: starts a session for a requirement. */
export function register(command: Command): Action<BeginOptions> {
  command
    .argument("[requirement]", "what to do; - reads standard input")
    .option(
      "--plan <file>",
      "your own plan, or a list of tasks or issues, instead of a manager's; - reads standard input",
    )
    .addOption(new Option("--plan-only", "stop when there is a plan, for you to review").conflicts("yes"));
  addBeginOptions(command, "requirement");
  command
    .option("--base <commit>", "where copies of the repository start from (default: HEAD, if all is committed)")
    .option("--include-dirty", "copies start from HEAD with the uncommitted changes of files that git knows");
  addPlanOptions(command);
  addSeatOptions(command);
  return (context, [words], options) =>
    beginOrResume(context, options, (runOptions) => readRunInput(context, words, options, runOptions));
}
