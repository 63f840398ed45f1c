import type { Command } from "commander";
import { programFile } from "../../agents/program-file.ts";
import { splitCommand } from "../../config/command-line.ts";
import type { Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { pagerAt } from "../../ui/pager.ts";
import type { CommandContext, Work } from "./command.ts";

/** The option of commands with long output. */
export interface PagerOption {
  /** False with `--no-pager`. */
  readonly pager?: boolean;
}

/** Adds it. */
export function addPagerOption(command: Command): void {
  command.option("--no-pager", "write to the terminal even what is longer than the screen");
}

/** Does the work, whose output goes through the pager of a person at this terminal if it is `long` and they want it so. */
export async function paged(
  context: CommandContext,
  { pager: isWanted = true }: PagerOption,
  long: boolean,
  work: Work,
): Promise<Result<number, Failure>> {
  const command = long && isWanted ? pagerOf(context) : undefined;
  if (command === undefined) return work(context);
  const { terminal, environment } = context;
  // Without LESS, less shows colours as escape sequences and does not end with the last line.
  const pager = pagerAt(terminal.out, command, { ...environment, LESS: environment.LESS ?? "FIRX" });
  try {
    return await work({ ...context, terminal: { ...terminal, out: pager.out } });
  } finally {
    await pager.end();
  }
}

/** `$PAGER`, else less; undefined if it is empty, `cat` or missing, and where nobody is to read in it. */
function pagerOf({ terminal, environment, directory }: CommandContext): string | undefined {
  if (!terminal.hasPerson || !terminal.out.stream.isTTY || terminal.isDumb) return undefined;
  const { PAGER: command = "less -FIRX", PATH } = environment;
  const words = splitCommand(command);
  // What a shell would have to expand is left to the shell.
  if (!words.ok) return command;
  const [program = "cat"] = words.value;
  return program === "cat" || programFile(program, directory, PATH) === undefined ? undefined : command;
}
