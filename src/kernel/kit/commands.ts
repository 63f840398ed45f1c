import type { JsonObject } from "../../lib/json.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { cut } from "../../protocol/refusal.ts";

/** The arguments of a program that the scheduler runs itself. */
export type CheckCommand = readonly string[];

/** Maximum length of an action in characters; the details have all of it. */
const MAX_ACTION = 2_000;

/** The id of the ask whether commands may run that a record brought. */
export function askAboutCommands(record: number): string {
  return `p${record}`;
}

/** What a person is asked, as a permission: whether the scheduler may run these commands. */
export function aboutCommands(role_id: string, commands: readonly CheckCommand[], why: string): JsonObject {
  const lines = commandLines(commands);
  const action = `have Bosun run: ${lines.join("; ").replaceAll(/\s*\n\s*/g, "; ")}`;
  const details = lines.join("\n");
  return {
    role_id,
    action: cut(action, MAX_ACTION),
    ...(action.length <= MAX_ACTION && action.endsWith(`: ${details}`) ? {} : { details }),
    why,
  };
}

/** As a person would type them. */
export function commandLines(commands: readonly CheckCommand[]): string[] {
  return commands.map((command) => command.map(shellWord).join(" "));
}
