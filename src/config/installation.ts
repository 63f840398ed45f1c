import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";

/** `.ts` where this runs from the sources, by Node's own type stripping, `.js` in the bundle. */
const EXTENSION = extname(import.meta.filename);

/** A file or folder that is shipped with the program, such as `schemas/` or `config/crews/`, as an absolute path. */
export function shipped(...segments: string[]): string {
  return join(folderWith(join("schemas", "roles.schema.json")), ...segments);
}

/** The program of the embedded crew with this name (`playbook`, `shell`, …), as an absolute path that Node can run. */
export function crewProgram(name: string): string {
  return join(programs(), "crew", `${name}${EXTENSION}`);
}

/** The program itself, from the sources or from the bundle: whichever this is. Absolute. */
export function bosunProgram(): string {
  return join(programs(), EXTENSION === ".ts" ? "cli.ts" : "bin.js");
}

/** `src`, or wherever the bundle was put. */
function programs(): string {
  return folderWith(join("crew", `playbook${EXTENSION}`));
}

/** The nearest folder above that holds a file: source and bundle lie at different depths, so it is looked for. */
function folderWith(file: string): string {
  for (let directory = import.meta.dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, file))) return directory;
    if (directory === dirname(directory)) {
      throw new Error(`The program is not complete: there is no ${file} above ${import.meta.dirname}.`);
    }
  }
}
