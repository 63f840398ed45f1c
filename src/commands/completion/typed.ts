import type { Argument, Command, Option } from "commander";

/** A command line that is still being typed. */
export interface Typed {
  /** The command, or the program itself until one is typed. */
  readonly command: Command;
  /** The arguments before the cursor. */
  readonly operands: readonly string[];
  /** What the word at the cursor is: a name, or the value of an option or argument; undefined where nothing can follow. */
  readonly place: "command" | "option" | Option | Argument | undefined;
  /** The typed part of the word, without `--option=`. */
  readonly prefix: string;
}

/** Stands for the word at the cursor, because no word contains NUL. */
const CURSOR = "\u0000";

/** Parses the words up to the cursor. The last one is being typed and may be empty. Unknown options count as flags without a value. */
export function readTyped(program: Command, words: readonly string[]): Typed {
  const last = words.at(-1) ?? "";
  const [, flag = "", prefix = last] = /^(--[^=]+=)(.*)$/s.exec(last) ?? [];
  const cursor = flag === "" && last.startsWith("-") ? `-${CURSOR}` : CURSOR;
  const outer = program.parseOptions([...words.slice(0, -1), flag + cursor]);
  const first = program.commands.find((command) => command.name() === outer.operands[0]);
  const second = first?.commands.find((command) => command.name() === outer.operands[1]);
  const inner = second ?? first;
  // A value is only read: a check would refuse the cursor, and a list would hide it.
  for (const option of inner?.options ?? []) delete option.parseArg;
  const { operands, unknown } = inner?.parseOptions(outer.unknown) ?? { operands: [], unknown: outer.unknown };
  const given = [...outer.operands, ...operands, ...unknown.filter((word) => !word.startsWith("-"))];
  const before = given.filter((word) => word !== cursor);
  const valued = [inner, program].flatMap(
    (command) => command?.options.filter((option) => command.getOptionValue(option.attributeName()) === cursor) ?? [],
  );
  const typed = { command: inner ?? program, operands: before.slice(second ? 2 : first ? 1 : 0), prefix };
  if (valued[0] !== undefined) return { ...typed, place: valued[0] };
  if (given.length > before.length) return { ...typed, place: inner ? argumentAt(typed) : commandAt(typed) };
  return { ...typed, place: cursor === CURSOR ? undefined : "option" };
}

function commandAt({ operands: [first, ...more] }: Omit<Typed, "place">): Typed["place"] {
  return first === undefined || (first === "help" && more.length === 0) ? "command" : undefined;
}

function argumentAt({ command, operands }: Omit<Typed, "place">): Typed["place"] {
  if (command.commands.length > 0) return operands.length === 0 ? "command" : undefined;
  const last = command.registeredArguments.at(-1);
  return command.registeredArguments[operands.length] ?? (last?.variadic === true ? last : undefined);
}
