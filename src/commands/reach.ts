import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { failure, type Failure } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";

/** The file that a role's command would start, from this directory with this `PATH`; undefined if there is none. */
export function programFile(program: string, directory: string, path: string | undefined): string | undefined {
  if (program.includes("/")) return executable(isAbsolute(program) ? program : resolve(directory, program));
  for (const folder of (path ?? "").split(delimiter)) {
    const found = folder === "" ? undefined : executable(join(folder, program));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A failure for a role whose program is not there, before anything is begun for it. */
export function missingProgram(role: Role, directory: string, path: string | undefined): Failure | undefined {
  const program = role.cli_command?.[0];
  if (program === undefined || programFile(program, directory, path) !== undefined) return undefined;
  const where = program.includes("/") ? "is not a program that is there" : "is not on the PATH";
  return failure("environment", `The role ${role.role_id} runs ${JSON.stringify(program)}, which ${where}.`, {
    hint: "Install it, or name another with --manager CMD, --worker CMD, --crew NAME or --roles FILE; `bosun doctor` checks them all.",
  });
}

function executable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}
