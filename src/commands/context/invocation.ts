import { realpathSync } from "node:fs";
import { relative } from "node:path";
import { programFile } from "../../agents/program-file.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { Environment } from "../../config/found.ts";
import { resolveHome } from "../../config/home.ts";
import { bosunProgram } from "../../config/installation.ts";

/** Where a person types. */
interface Here {
  readonly directory: string;
  readonly environment: Environment;
}

/**
 * What a person types for this program: its name where the shell finds it, else how it is started. The home is added as it was
 * named, where it is not found without. For whoever reads this elsewhere every path stands whole.
 */
export function invocationName(
  { directory, environment, home }: Here & { readonly home: string | undefined },
  reader: "here" | "elsewhere" = "here",
): string {
  const here = { directory, environment };
  const installed = programFile("bosun", directory, environment.PATH) !== undefined;
  const program = installed ? "bosun" : startCommand(here, reader);
  const named = home === undefined ? undefined : resolveHome(home, environment, directory);
  if (home === undefined || !named?.ok) return program;
  const found = resolveHome(undefined, environment, directory);
  if (found.ok && found.value === named.value) return program;
  return `${program} --home ${shellWord(reader === "here" ? home : named.value)}`;
}

/** Another Node that the shell finds may be too old; and what npm has put on its own `PATH` is not on the person's. */
function startCommand({ directory, environment }: Here, reader: "here" | "elsewhere"): string {
  const shown = (path: string) => (reader === "here" ? shortPath(directory, path) : path);
  const found = programFile("node", directory, environment.PATH);
  const isLent = environment.npm_execpath !== undefined && found?.includes("/node_modules/") === true;
  const isThis = found !== undefined && realpathSync(found) === process.execPath && !isLent;
  const node = shown(process.execPath);
  const words = [isThis ? "node" : node.includes("/") ? node : `./${node}`, shown(bosunProgram())];
  return words.map(shellWord).join(" ");
}

/** A path as it is shortest from a directory: one that leads out of it stands whole. */
function shortPath(directory: string, path: string): string {
  const near = relative(directory, path) || ".";
  const isInside = near !== ".." && !near.startsWith("../");
  return isInside && near.length < path.length ? near : path;
}
