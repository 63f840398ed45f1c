import type { Command } from "commander";
import type { Environment } from "../../config/found.ts";
import type { Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Terminal } from "../../ui/terminal.ts";

/** What every command is given: where it stands and where it speaks. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** The current directory, absolute. */
  readonly directory: string;
  readonly environment: Environment;
  /** `--home`, as typed. */
  readonly home: string | undefined;
  /** Ends the process at once, for the second signal; everything else ends by its exit code. */
  readonly leave: (exit_code: number) => void;
}

/** A command's work: the exit code, or the failure that gives one. */
export type Work = (context: CommandContext) => Promise<Result<number, Failure>>;

/** Does the work and keeps its exit code for the end of the process. */
export type Run = (work: Work) => Promise<void>;

/** Gives a command, which has its name and summary already, its arguments, options, help and action. */
export type Register = (command: Command, run: Run) => void;

/** An option that may be given several times, for commander's `argParser`. */
export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}
