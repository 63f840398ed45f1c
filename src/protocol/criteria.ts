import { listOf, objectOf, textOf } from "../lib/json.ts";
import type { PayloadByType } from "./payload.ts";

/** The id of the settings' checks on the commit from which a session starts. A plan's checks have the number of its record appended. */
export const BASELINE = "kbase";

/** Where checks on the commit from which a session starts come from; undefined for all other checks. */
export function baselineOf(check_id: string): "settings" | "plan" | undefined {
  if (check_id === BASELINE) return "settings";
  return check_id.startsWith(BASELINE) ? "plan" : undefined;
}

/** A word that needs no quotes in a shell. As the first one, `A=b` sets a variable there. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** Whether an executable criterion of the turn's task or instruction is exactly the command of a permission's `action`. */
export function isCriterion(action: string, { message, context }: PayloadByType["turn_request"]): boolean {
  const places = [objectOf(context.ticket?.task), message.payload_type === "instruction" ? message.payload : {}];
  return places
    .flatMap(({ acceptance_criteria }) => listOf(acceptance_criteria))
    .map((criterion) => listOf(objectOf(criterion).command).map(textOf))
    .filter(([program = ""]) => !program.includes("="))
    .some((command) => command.every((word) => PLAIN_WORD.test(word)) && action === `run: ${command.join(" ")}`);
}
