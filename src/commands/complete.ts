import type { Command } from "commander";
import { EXIT_DONE } from "../runtime/exit.ts";
import { clipped, safeLine } from "../ui/display.ts";
import { CATALOGUE } from "./catalogue.ts";
import { type Candidates, candidatesAt } from "./completion/candidates.ts";
import { readTyped, type Typed } from "./completion/typed.ts";
import { type CommandContext, nameOf } from "./context/command.ts";

/** Completion directives for the shell. The last line holds their sum. */
const NO_FILES = 4;
const FOLDERS = 16;
const KEEP_ORDER = 32;

/** Words that no shell expands when it inserts them: an agent or a repository may have chosen the name. */
const INERT = /^[\p{L}\p{N}_-][\p{L}\p{N}_.@+,-]*$/u;

const WIDEST_ABOUT = 60;

/**
 * `bosun complete -- WORDS`, called by the script of `bosun completion`: lists completions of the last word. Each line has a word and, after
 * a tab, its description. Any failure completes nothing, because the person is still typing.
 */
export async function complete(
  program: Command,
  words: readonly string[],
  around: Omit<CommandContext, "home">,
): Promise<number> {
  const { out } = around.terminal;
  try {
    const { command } = readTyped(program, words);
    const entry = CATALOGUE.find(({ name }) => name === nameOf(command));
    if (entry) (await entry.load()).register(command);
    const typed = readTyped(program, words);
    const candidates = await candidatesAt({ ...around, home: program.opts<{ home?: string }>().home }, program, typed);
    for (const line of linesOf(candidates, typed)) out.line(line);
  } catch {
    // The person is still typing.
  }
  return EXIT_DONE;
}

function linesOf({ found, files }: Candidates, { prefix, place }: Typed): string[] {
  // An id that looks like an option would be parsed as one.
  const mayBeOption = place === undefined || prefix.startsWith("-");
  const fitting = found.filter(
    ({ value }) =>
      value.startsWith(prefix) &&
      INERT.test(value) &&
      safeLine(value) === value &&
      (mayBeOption || !value.startsWith("-")),
  );
  const lines = fitting.map(({ value, about = "" }) =>
    about === "" ? value : `${value}\t${clipped(about, WIDEST_ABOUT)}`,
  );
  const directive = KEEP_ORDER + { all: 0, folders: FOLDERS, none: NO_FILES }[files];
  return [...new Set(lines), `:${directive}`];
}
