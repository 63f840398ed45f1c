import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { CommandContext } from "./command.ts";

/** The bytes of this process's command line, where the system shows them. */
const COMMAND_LINE = "/proc/self/cmdline";

/**
 * Refuses names that are not UTF-8: Node puts U+FFFD in the place of their bytes, so Bosun would find nothing by them, or make something else.
 * Failures: `environment` for the current directory or a variable, `usage` for an argument.
 */
export function lostBytes(
  argv: readonly string[],
  { directory, environment }: Pick<CommandContext, "directory" | "environment">,
): Failure | undefined {
  const isLost = (text: string | undefined) => text?.includes("\ufffd") === true;
  const { BOSUN_HOME, HOME, XDG_STATE_HOME, XDG_CONFIG_HOME } = environment;
  const paths = [directory, BOSUN_HOME, HOME, XDG_STATE_HOME, XDG_CONFIG_HOME];
  const path = paths.find((one) => isLost(one) && !existsSync(one ?? ""));
  const hint = "Bosun cannot name such files or keep such texts: rename what it names, or write it in UTF-8.";
  if (path !== undefined) return failure("environment", `This path is not UTF-8: ${path}.`, { hint });
  const word = argv.find(isLost);
  if (word === undefined || !existsSync(COMMAND_LINE) || isUtf8(readFileSync(COMMAND_LINE))) return undefined;
  return failure("usage", `An argument is not UTF-8: ${word}.`, { hint });
}
