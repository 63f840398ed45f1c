import type { Command } from "commander";
import { err, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { checkSessionId } from "../store/sessions.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { openHome, withHome } from "./context/home.ts";
import { addRunOptions, type RunFlags, readRunOptions } from "./options/run-options.ts";
import { addRegistryOptions } from "./options/registry.ts";
import { readRunInput, type RunInputOptions } from "./options/run-input.ts";
import { tellingUnused } from "./interaction/unused-answers.ts";
import { begin } from "./driver/begin.ts";
import { runtimeEnvironment } from "./driver/runtime-environment.ts";
import { goOn } from "./driver/same-inputs.ts";
import { sessionCalled } from "./lookup/resolve.ts";
import { newSessionId } from "./lookup/id.ts";

interface RunCommandOptions extends RunInputOptions, RunFlags {
  readonly base?: string;
  readonly session?: string;
}

/** `bosun run`: a new session, from a requirement to its end. */
export function register(command: Command, run: Run): void {
  command
    .argument("[requirement]", "what is to be done; - reads it from standard input")
    .option("--file <file>", "the requirement is in this file; - reads standard input")
    .option("--plan <file>", "your own plan, as YAML or JSON, instead of a manager's; - reads standard input")
    .option("--cwd <directory>", "the workspace (default: here)")
    .option("--plan-only", "stop as soon as there is a plan, for you to look at")
    .option("--confirm", "ask for your word on the result before the session closes")
    .option("--max-workers <n>", "how many workers may be busy at once")
    .option("--isolation <how>", "none: agents work in the workspace itself")
    .option("--base <ref>", "what worktrees start from")
    .option("--budget-turns <n>", "stop after so many turns")
    .option("--budget-tokens <n>", "stop after so many tokens, input and output together")
    .option("--budget-usd <n>", "stop after so much money")
    .option("--deadline <duration>", "stop after so long, sleep of the machine not counted: 90s, 15m, 4h")
    .option("--session <id>", "the session's id; one that is there goes on, if it is the same");
  addRegistryOptions(command);
  addRunOptions(command);
  command.addHelpText(
    "after",
    `
Examples:
  bosun run --plan plan.yaml
  bosun run "Write a page about tides" --manager "python3 manager.py" --worker "python3 worker.py"
  bosun run --file requirement.md --manager "python3 manager.py" --plan-only`,
  );
  command.showHelpAfterError(QUOTED_WORDS);
  command.action((words: string | undefined, options: RunCommandOptions) =>
    run((context) => runSession(context, words, options)),
  );
}

const QUOTED_WORDS = "(words with blanks stand in quotes; `bosun help run` lists the options)";

async function runSession(
  context: CommandContext,
  words: string | undefined,
  options: RunCommandOptions,
): Promise<Result<number, Failure>> {
  const refused = notYet(options);
  if (refused) return err(refused);
  if (options.session !== undefined) {
    const named = checkSessionId(options.session);
    if (!named.ok) return named;
  }
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const input = await readRunInput(context, words, options);
  if (!input.ok) return input;
  return withHome(openHome(context), async (home) => {
    const { store } = home;
    const runtime = runtimeEnvironment(home, context);
    const there = sessionCalled(store, options.session);
    if (!there.ok) return there;
    const session_id = options.session ?? newSessionId("schedule");
    const left = there.value
      ? goOn(context, runtime, there.value, input.value, runOptions.value)
      : begin(context, runtime, session_id, input.value, runOptions.value);
    return tellingUnused(context, store, session_id, runOptions.value, left);
  });
}

function notYet(options: RunCommandOptions): Failure | undefined {
  if (options.base !== undefined) {
    return failure("usage", "--base goes with worktrees, which are not there yet.", {
      hint: "Leave it out; --cwd names the directory to work in.",
    });
  }
  if (options.yes === true && options.planOnly === true) {
    return failure("usage", "--yes and --plan-only contradict each other.", { hint: "Leave one of them out." });
  }
  return undefined;
}
