import type { Command } from "commander";
import { absoluteFolders, programFile } from "../../lib/program-file.ts";
import { splitCommand } from "../../config/command-line.ts";
import { pagerAt } from "../../ui/pager.ts";
import type { CommandContext, Exit, Work } from "./command.ts";

/** The option of commands with long output. */
export interface PagerOption {
  /** False with `--no-pager`. */
  readonly pager?: boolean;
}

export function addPagerOption(command: Command): void {
  command.option("--no-pager", "do not use a pager");
}

/** Runs work. If its output is `long`, it goes through the pager, provided that a person is at this terminal and wants one. */
export async function paged(
  context: CommandContext,
  { pager: isWanted = true }: PagerOption,
  long: boolean,
  work: Work,
): Promise<Exit> {
  const command = long && isWanted ? pagerOf(context) : undefined;
  if (command === undefined) return work(context);
  const { terminal, environment } = context;
  // Without LESS, less shows colours as escape sequences and does not exit at the last line.
  const pager = pagerAt(terminal.out, command, {
    ...environment,
    PATH: absoluteFolders(environment.PATH),
    LESS: environment.LESS ?? "FIRX",
  });
  try {
    return await work({ ...context, terminal: { ...terminal, out: pager.out } });
  } finally {
    await pager.end();
  }
}

/** `$PAGER`, else less. Undefined if it is empty, `cat` or missing, or if no person can use it here. */
function pagerOf({ terminal, environment, directory }: CommandContext): string | undefined {
  if (!terminal.hasPerson || !terminal.out.stream.isTTY || terminal.isDumb) return undefined;
  const { PAGER: command = "less -FIRX", PATH } = environment;
  const words = splitCommand(command);
  // The shell expands what this parser cannot.
  if (!words.ok) return command;
  const [program = "cat"] = words.value;
  return program === "cat" || programFile(program, directory, absoluteFolders(PATH)) === undefined
    ? undefined
    : command;
}
