import type { Command } from "commander";
import type { Environment } from "../../config/found.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { Terminal } from "../../ui/terminal.ts";

export interface CommandContext {
  readonly terminal: Terminal;
  /** The current directory, absolute. */
  readonly directory: string;
  readonly environment: Environment;
  /** `--home`, as typed. */
  readonly home: string | undefined;
  /** Ends the process at once, on the second signal. */
  readonly leave: (exit_code: number) => void;
}

/** How a command ends: with its exit code, or a failure, which has one. */
export type Exit = Fallible<number>;

export type Work = (context: CommandContext) => Promise<Exit>;

export type Action<Options> = (context: CommandContext, words: readonly string[], options: Options) => Promise<Exit>;

/** Adds arguments, options and help to a command that has its name and summary. Returns what it does. */
export type Register = (command: Command) => Action<never>;

/** What a person types for a command, without the program: `meeting run`. */
export function nameOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${nameOf(parent)} ${command.name()}` : command.name();
}

/** Collects the values of an option that may be repeated, for commander's `argParser`. */
export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}
