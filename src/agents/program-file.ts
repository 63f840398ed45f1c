import { statSync } from "node:fs";
import { resolve } from "node:path";
import { mayEnter } from "../lib/files.ts";
import { shellWord } from "../lib/shell-word.ts";

/** What prevents a start, for people: `why` follows the name of the program or directory, `remedy` is a sentence without a full stop. */
export interface Obstacle {
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

export function notExecutable(program: string, directory: string): Obstacle {
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
