import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";

/** The file that a command would start, from this directory with this `PATH`; undefined if there is none that may be executed. */
export function programFile(program: string, directory: string, path: string | undefined): string | undefined {
  if (program.includes("/")) return executable(resolve(directory, program));
  for (const folder of (path ?? "").split(delimiter)) {
    const found = folder === "" ? undefined : executable(resolve(directory, folder, program));
    if (found !== undefined) return found;
  }
  return undefined;
}

function executable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}

/** Why there is none, to follow the program's name; and what is there `instead`, if anything is. */
export function noProgram(
  program: string,
  directory: string,
): { readonly why: string; readonly instead?: "directory" | "file" } {
  if (!program.includes("/")) return { why: "is not on the PATH" };
  try {
    const found = statSync(resolve(directory, program));
    if (found.isDirectory()) return { why: "is a directory", instead: "directory" };
    if (found.isFile()) return { why: "is there, but may not be executed", instead: "file" };
  } catch {}
  return { why: "is not a program that is there" };
}
