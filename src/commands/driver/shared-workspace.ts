import { realPath } from "../../lib/files.ts";
import type { StoreReader } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import { confirmHere, type Declined } from "../interaction/confirm.ts";
import { runningSessions } from "../lookup/resolve.ts";

/**
 * Warns that other sessions of this home work in the workspace of a new one. With `ask`, asks the person at this terminal whether to begin;
 * returns the exit code if they decline.
 */
export async function warnOfOthers(
  context: CommandContext,
  reader: StoreReader,
  workspace: string,
  ask: boolean,
): Promise<Declined | undefined> {
  const here = realPath(workspace);
  const others = runningSessions(reader).filter((row) => realPath(row.workspace) === here);
  if (others.length === 0) return undefined;
  const { err } = context.terminal;
  const names = others.map(({ session_id }) => session_id).join(", ");
  const work = others.length === 1 ? "works" : "work";
  err.line(err.style("yellow", `${names} also ${work} in this folder: agents may overwrite each other's changes.`));
  const declined = ask ? await confirmHere(context, "Begin all the same?", "yes") : undefined;
  if (declined !== undefined) err.line("Nothing was begun.");
  return declined;
}
