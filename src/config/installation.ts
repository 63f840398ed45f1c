import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Whether this runs from the sources, by Node's own type stripping, and not from the bundle in `dist/`. */
const FROM_SOURCE = import.meta.filename.endsWith(".ts");

/** A file or folder that is shipped with the program, such as `schemas/` or `config/crews/`, as an absolute path. */
export function shipped(...segments: string[]): string {
  return join(packageRoot(), ...segments);
}

/** The program of the embedded crew with this name (`playbook`, `shell`, …), as an absolute path that Node can run. */
export function crewProgram(name: string): string {
  return FROM_SOURCE ? shipped("src", "crew", `${name}.ts`) : shipped("dist", "crew", `${name}.js`);
}

/** The program itself, from the sources or from the bundle: whichever this is. Absolute. */
export function bosunProgram(): string {
  return FROM_SOURCE ? shipped("src", "cli.ts") : shipped("dist", "bin.js");
}

/** Source and bundle lie at different depths below the root, so it is looked for. */
function packageRoot(): string {
  for (let directory = import.meta.dirname; ; directory = dirname(directory)) {
    if (existsSync(join(directory, "schemas", "roles.schema.json"))) return directory;
    if (directory === dirname(directory)) {
      throw new Error(`The program is not complete: there is no schemas folder above ${import.meta.dirname}.`);
    }
  }
}
