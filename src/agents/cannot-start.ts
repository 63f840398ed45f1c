import { statSync } from "node:fs";
import { resolve } from "node:path";
import { getSystemErrorMessage } from "node:util";
import { mayEnter } from "../lib/files.ts";
import { shellWord } from "../lib/shell-word.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { LaunchSpec } from "./launcher.ts";
import { programFile } from "../lib/program-file.ts";

/** Why this cannot be started on any machine, as a `configuration` failure; undefined if nothing is wrong with it. */
export function invalidSpecReason(spec: LaunchSpec): Failure | undefined {
  const [program = ""] = spec.command;
  const why = program === "" ? "the command is empty" : nulByte(spec);
  if (why === undefined) return undefined;
  return failure("configuration", `Cannot start ${JSON.stringify(program)}: ${why}.`, {
    hint: "Correct the role's cli_command.",
  });
}

/** Errors that pass by themselves: the program is being replaced, its disk is away, or there are too many processes or files. */
const PASSING: ReadonlySet<string> = new Set(
  "ENOENT ETXTBSY EIO ENODEV ESTALE ENOTCONN EAGAIN ENOMEM EMFILE ENFILE".split(" "),
);

/**
 * The system's error as a failure that names the program or the directory, and the remedy: `unavailable` for what is away or short for now, else
 * `environment`.
 */
export function couldNotStart(spec: LaunchSpec, error: NodeJS.ErrnoException): Failure {
  const { directory } = spec;
  const [program = ""] = spec.command;
  const code = error.code ?? "";
  const details = { program, directory, errno: code };
  const outside = directoryObstacle(directory);
  const isPassing = outside ? mayEnter(directory) === "gone" : PASSING.has(code);
  const kind = isPassing ? "unavailable" : "environment";
  const { why, remedy } = outside
    ? {
        why: `its directory ${JSON.stringify(directory)} ${outside.why}`,
        remedy: `${outside.remedy}, or name another workspace`,
      }
    : explain(spec, error);
  return failure(kind, `Cannot start ${JSON.stringify(program)}: ${why}.`, { hint: `${remedy}.`, details });
}

function nulByte({ command, directory, environment }: LaunchSpec): string | undefined {
  if (command.some((argument) => argument.includes("\0"))) return "an argument holds a NUL byte";
  if (directory.includes("\0")) return "its directory holds a NUL byte";
  const variable = Object.entries(environment).find(([name, value]) => `${name}${value}`.includes("\0"));
  return variable && `the environment variable ${JSON.stringify(variable[0].replaceAll("\0", ""))} holds a NUL byte`;
}

function explain({ command, directory, environment }: LaunchSpec, error: NodeJS.ErrnoException): Obstacle {
  const [program = ""] = command;
  const { code = "", errno, message } = error;
  const about = ({ why, remedy }: Obstacle) => ({ why: `it ${why}`, remedy });
  if (code === "ENOENT") {
    const file = programFile(program, directory, environment["PATH"]);
    if (file === undefined) return about(programObstacle(program, directory));
    // The system also reports ENOENT for a script whose interpreter is missing.
    return {
      why: `the interpreter in the first line of ${JSON.stringify(file)}, or the loader of this build, is not installed`,
      remedy: "Install it, correct that line, or install another build",
    };
  }
  if (code === "EACCES" || code === "EPERM") {
    const found = programObstacle(program, directory);
    return about(found.why === "is a directory" ? found : notExecutable(program, directory));
  }
  const [reason = ""] = message.split("\n", 1);
  const why = errno === undefined ? reason : `${getSystemErrorMessage(errno)} (${code})`;
  return { why, remedy: REMEDIES[code] ?? "Run the command in a terminal to see why" };
}

const FEWER = "Lower max_workers, end other programs, or raise the limits of `ulimit`";

/** What to do about other errors, which the system names. */
const REMEDIES: Readonly<Record<string, string>> = {
  ENOEXEC: "Give a script a first line such as #!/bin/sh, or install a build for this machine",
  E2BIG: "Shorten the role's cli_command or env",
  EMFILE: FEWER,
  ENFILE: FEWER,
  EAGAIN: FEWER,
  ENOMEM: FEWER,
};

/** What prevents a start, for people: `why` follows the name of the program or directory, `remedy` is a sentence without a full stop. */
interface Obstacle {
  readonly why: string;
  readonly remedy: string;
}

/** Why `programFile` finds no program. */
export function programObstacle(program: string, directory: string): Obstacle {
  const file = resolve(directory, program);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!program.includes("/")) {
    const remedy = found?.isFile() === true ? `To run the file, type ./${shellWord(program)}` : "Install it";
    return { why: "is not on the PATH", remedy };
  }
  if (found?.isDirectory() === true) return { why: "is a directory", remedy: "Name a program in it" };
  if (found?.isFile() !== true) return { why: "does not exist", remedy: "Correct its path" };
  return notExecutable(program, directory);
}

function notExecutable(program: string, directory: string): Obstacle {
  return {
    why: "is not executable",
    remedy: `Make it executable (chmod +x ${shellWord(resolve(directory, program))})`,
  };
}

/** Why no program can be started in a directory; undefined if one can. */
export function directoryObstacle(directory: string): Obstacle | undefined {
  switch (mayEnter(directory)) {
    case "yes":
      return undefined;
    case "refused":
      return { why: "may not be entered by you", remedy: "Give yourself the permission (chmod u+x)" };
    case "gone":
      return { why: "is not an existing directory", remedy: "Create it" };
  }
}
