import { mayEnter } from "../lib/directory.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { LaunchSpec } from "./launcher.ts";
import { noProgram, programFile } from "./program-file.ts";

/** Why this cannot be started whatever the machine is like; `configuration`. */
export function unfit(spec: LaunchSpec): Failure | undefined {
  const [program = ""] = spec.command;
  const why = program === "" ? "the command is empty" : nulByte(spec);
  if (why === undefined) return undefined;
  return failure("configuration", `Cannot start ${quoted(program)}: ${why}.`, {
    hint: "Correct the role's cli_command.",
  });
}

/** What the system's refusal means for the person: `environment`, naming the program or the directory, and the remedy. */
export function couldNotStart(spec: LaunchSpec, error: NodeJS.ErrnoException): Failure {
  const { directory } = spec;
  const [program = ""] = spec.command;
  const code = error.code ?? "";
  const details = { program, directory, errno: code };
  const entered = mayEnter(directory);
  if (entered !== "yes") {
    const [what, remedy] =
      entered === "gone"
        ? ["is not there", "Create the directory"]
        : ["may not be entered", "Give yourself the right to enter it (chmod u+x)"];
    return failure("environment", `Cannot start ${quoted(program)}: its directory ${quoted(directory)} ${what}.`, {
      hint: `${remedy}, or name another workspace.`,
      details,
    });
  }
  const [why, hint] = explain(spec, code, error.message);
  return failure("environment", `Cannot start ${quoted(program)}: ${why}.`, { hint, details });
}

function nulByte({ command, directory, environment }: LaunchSpec): string | undefined {
  if (command.some((argument) => argument.includes("\0"))) return "an argument holds a NUL byte";
  if (directory.includes("\0")) return "its directory holds a NUL byte";
  const variable = Object.entries(environment).find(([name, value]) => `${name}${value}`.includes("\0"));
  return variable && `the environment variable ${quoted(variable[0].replaceAll("\0", ""))} holds a NUL byte`;
}

function explain(
  { command, directory, environment }: LaunchSpec,
  code: string,
  reason: string,
): [why: string, hint: string] {
  const [program = ""] = command;
  switch (code) {
    case "ENOENT": {
      const file = programFile(program, directory, environment["PATH"]);
      // Of a script that is there the system says the same, and means the program that is to read it.
      if (file !== undefined)
        return [
          `the interpreter that the first line of ${quoted(file)} names, or the loader that it was built for, is not installed`,
          "Install it, correct that line, or install the right build.",
        ];
      return program.includes("/")
        ? ["there is no such file", "Correct the role's cli_command."]
        : [
            "there is no such program on the PATH",
            "Install it, correct the role's cli_command, or put it on the PATH.",
          ];
    }
    case "EACCES":
    case "EPERM":
      if (noProgram(program, directory).instead === "directory")
        return ["it is a directory", "Correct the role's cli_command."];
      return ["it may not be executed", `Make it executable: chmod +x ${quoted(program)}.`];
    case "ENOEXEC":
      return [
        "it is not a program this machine can run",
        "Give a script a first line such as #!/bin/sh, or install the right build.",
      ];
    case "E2BIG":
      return [
        "its arguments and environment are larger than the system takes",
        "Shorten the role's cli_command or env.",
      ];
    case "EMFILE":
    case "ENFILE":
      return ["too many files are open", "Raise the limit with `ulimit -n`, or lower max_workers."];
    case "EAGAIN":
    case "ENOMEM":
      return ["the system has no room for another process", "Lower max_workers, or end other programs."];
    default:
      return [reason.split("\n", 1)[0] || code || "the system refused", "Try the command in a terminal."];
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
