import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { CommandContext } from "./command.ts";

/** The variables that lead to a home, settings or a log-in. */
const PATHS = ["BOSUN_HOME", "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"];

/**
 * Refuses names that are not UTF-8: Node puts U+FFFD in the place of their bytes, so Bosun would find nothing by them, or make something else.
 * Failures: `environment` for the current directory or a variable, `usage` for an argument.
 */
export function lostBytes(
  argv: readonly string[],
  { directory, environment }: Pick<CommandContext, "directory" | "environment">,
): Failure | undefined {
  const paths = [["The current directory", directory], ...PATHS.map((name) => [name, environment[name]])];
  const [which, path] = paths.find(([, path]) => isLost(path) && !existsSync(path ?? "")) ?? [];
  if (which !== undefined) {
    return failure("environment", `${which} has a name that is not UTF-8: ${path}.`, {
      hint: "Bosun cannot name such files. Rename the directory, or use another one.",
    });
  }
  const word = argv.find(isLost);
  if (word === undefined || isUtf8(commandLine())) return undefined;
  return failure("usage", `An argument is not UTF-8: ${word}.`, {
    hint: "Bosun cannot name such files or keep such texts. Rename the file, or type the text in UTF-8.",
  });
}

function isLost(text: string | undefined): boolean {
  return text?.includes("\ufffd") === true;
}

/** The bytes of this process's command line; empty where the system does not show them. */
function commandLine(): Uint8Array {
  try {
    return readFileSync("/proc/self/cmdline");
  } catch {
    return new Uint8Array();
  }
}
