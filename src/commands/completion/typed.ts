import type { Argument, Command, Option } from "commander";

/** What the word at the cursor is. */
export type Place =
  | { readonly kind: "command" }
  | { readonly kind: "option" }
  | { readonly kind: "value"; readonly option: Option }
  | { readonly kind: "argument"; readonly argument: Argument };

/** A command line that is still being typed. */
export interface Typed {
  /** The command, or the program itself until one is typed. */
  readonly command: Command;
  /** The arguments before the cursor. */
  readonly operands: readonly string[];
  /** The values of the options before the cursor, by option name. */
  readonly values: ReadonlyMap<string, string>;
  /** Undefined where nothing can follow. */
  readonly place: Place | undefined;
  /** The typed part of the word, without `--option=`. */
  readonly prefix: string;
}

/** Parses the words up to the cursor. The last one is being typed and may be empty. Unknown options count as flags without a value. */
export function readTyped(program: Command, words: readonly string[]): Typed {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  const operands: string[] = [];
  const values = new Map<string, string>();
  let command = program;
  let waiting: Option | undefined;
  let isOver = false;
  for (const word of before) {
    if (waiting !== undefined && (waiting.required || !word.startsWith("-"))) {
      values.set(waiting.name(), word);
      waiting = undefined;
    } else if (!isOver && word === "--") {
      isOver = true;
    } else if (!isOver && word.startsWith("-") && word !== "-") {
      const { option, value } = optionIn(command, program, word);
      if (option !== undefined && value !== undefined) values.set(option.name(), value);
      waiting = value === undefined && takesValue(option) ? option : undefined;
    } else {
      const inner = command === program && operands.length === 0 ? commandCalled(program, word) : undefined;
      if (inner === undefined) operands.push(word);
      else command = inner;
    }
  }
  const typed = { command, operands, values };
  const isOption = !isOver && last.startsWith("-");
  if (waiting !== undefined && (waiting.required || !isOption))
    return { ...typed, place: { kind: "value", option: waiting }, prefix: last };
  if (!isOption) return { ...typed, place: placeOf(command, program, operands), prefix: last };
  const { option, value } = optionIn(command, program, last);
  if (value === undefined) return { ...typed, place: { kind: "option" }, prefix: last };
  return { ...typed, place: takesValue(option) ? { kind: "value", option } : undefined, prefix: value };
}

/** The options of a command that help shows, and those of the program that take a value. */
export function optionsOf(command: Command, program: Command): Option[] {
  const own = command.createHelp().visibleOptions(command);
  return command === program ? own : [...own, ...program.options.filter(takesValue)];
}

function placeOf(command: Command, program: Command, operands: readonly string[]): Place | undefined {
  if (command === program) {
    const isHelp = operands[0] === "help" && operands.length === 1;
    return operands.length === 0 || isHelp ? { kind: "command" } : undefined;
  }
  const { registeredArguments } = command;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[operands.length] ?? (last?.variadic === true ? last : undefined);
  return argument && { kind: "argument", argument };
}

function optionIn(command: Command, program: Command, word: string): { option?: Option; value?: string } {
  const [name = "", ...rest] = word.split("=");
  const option = [...command.options, ...program.options].find(({ short, long }) => name === short || name === long);
  return { ...(option && { option }), ...(word.includes("=") && { value: rest.join("=") }) };
}

function takesValue(option: Option | undefined): option is Option {
  return option !== undefined && (option.required || option.optional);
}

function commandCalled(program: Command, name: string): Command | undefined {
  return program.commands.find((command) => command.name() === name);
}
