import { realpathSync } from "node:fs";
import { relative } from "node:path";
import { programFile } from "../../lib/program-file.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { Environment } from "../../config/found.ts";
import { resolveHome } from "../../config/home.ts";
import { bosunProgram } from "../../config/installation.ts";
import type { CommandContext } from "./command.ts";

/**
 * How a person calls this program: `bosun` if the shell finds it, else the command that starts it; with `--home` if the home is not found
 * without it. For a reader in another directory, all paths are absolute.
 */
export function invocationName(
  { directory, environment, home }: Pick<CommandContext, "directory" | "environment" | "home">,
  reader: "here" | "elsewhere" = "here",
): string {
  const installed = programFile("bosun", directory, environment.PATH) !== undefined;
  const program = installed ? "bosun" : startCommand(directory, environment, reader);
  const named = home === undefined ? undefined : resolveHome(home, environment, directory);
  if (home === undefined || !named?.ok) return program;
  const found = resolveHome(undefined, environment, directory);
  if (found.ok && found.value === named.value) return program;
  return `${program} --home ${shellWord(reader === "here" ? home : named.value)}`;
}

/** The `node` on the PATH may be another version, or only be on the PATH of npm. */
function startCommand(directory: string, environment: Environment, reader: "here" | "elsewhere"): string {
  const shown = (path: string) => (reader === "here" ? shortPath(directory, path) : path);
  const found = programFile("node", directory, environment.PATH);
  const isNpms = environment.npm_execpath !== undefined && found?.includes("/node_modules/") === true;
  const isThis = found !== undefined && realpathSync(found) === process.execPath && !isNpms;
  const node = shown(process.execPath);
  const words = [isThis ? "node" : node.includes("/") ? node : `./${node}`, shown(bosunProgram())];
  return words.map(shellWord).join(" ");
}

/** A path relative to a directory if it is inside and that is shorter; else absolute. */
function shortPath(directory: string, path: string): string {
  const near = relative(directory, path) || ".";
  const isInside = near !== ".." && !near.startsWith("../");
  return isInside && near.length < path.length ? near : path;
}
