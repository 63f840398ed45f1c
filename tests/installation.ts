import { built } from "./built.ts";

// Stands in place of `src/config/installation.ts` (vitest.config.ts).
export { bosunProgram } from "../src/config/installation.ts";

/** The program of the bundled crew with this name. */
export function crewProgram(name: string): string {
  return built("crew", `${name}.js`);
}

/** The script and the style of the bundled page. */
export function reportPage(): { readonly script: string; readonly style: string } {
  return { script: built("report", "page.js"), style: built("report", "page.css") };
}
