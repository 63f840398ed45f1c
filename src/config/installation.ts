import { extname, join } from "node:path";
import { folderWith, shipped } from "../lib/files.ts";

/** `.ts` when run from the sources with Node's type stripping, `.js` in the bundle. */
const EXTENSION = extname(import.meta.filename);

/** The absolute path of a program of the embedded crew (`playbook`, `shell`, …), for Node to run. */
export function crewProgram(name: string): string {
  return join(programs(), "crew", `${name}${EXTENSION}`);
}

/** The absolute path of the program itself, in the sources or in the bundle. */
export function bosunProgram(): string {
  return join(programs(), EXTENSION === ".ts" ? "cli.ts" : "bin.js");
}

/** The script and style files of a report's page. Only the build makes them. */
export function reportPage(): { readonly script: string; readonly style: string } {
  const folder = EXTENSION === ".ts" ? shipped("dist", "report") : join(programs(), "report");
  return { script: join(folder, "page.js"), style: join(folder, "page.css") };
}

/** `src`, or the folder of the bundle. */
function programs(): string {
  return folderWith(join("crew", `playbook${EXTENSION}`));
}
