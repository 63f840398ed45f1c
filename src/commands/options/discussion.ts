import type { Settings } from "../../config/settings.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import { rehearse } from "../plans/rehearse.ts";
import { DISCUSSIONS, loadMode } from "../lookup/modes.ts";

/** What is wrong with the session in which proposals are to be discussed, before anything is begun for it: `configuration`. */
export async function discussionProblem(
  { values: { discussion, ...config }, origins }: Settings,
  roles: readonly Role[],
): Promise<Failure | undefined> {
  if (!discussion) return undefined;
  const { mode, input = {}, budget } = discussion;
  // A mapping stands where the first thing in it does. What is left out stands nowhere, and there is no discussion without a mode.
  const at = (key: string) => {
    const found = [...origins].find(([one]) => `${one}.`.startsWith(`discussion.${key}.`));
    return found?.[1] ?? origins.get("discussion.mode");
  };
  const rules = DISCUSSIONS.includes(mode) ? await loadMode(mode) : undefined;
  if (rules === undefined) {
    return failure("configuration", `${at("mode")}: There is no discussion in the mode "${mode}".`, {
      hint: `Discussions can be ${DISCUSSIONS.map((one) => `a "${one}"`).join(" or ")}.`,
    });
  }
  if (budget?.turns === 0) {
    return failure("configuration", `${at("budget.turns")}: A discussion without any turn comes to nothing.`, {
      hint: "Give discussion.budget.turns at least 1, or leave it out.",
    });
  }
  if ("topic" in input) {
    return failure("configuration", `${at("input.topic")}: The topic of a discussion is the manager's proposal.`, {
      hint: "Take discussion.input.topic out.",
    });
  }
  const opened = { mode, config, roles, input: { ...input, topic: "a proposal" } } as unknown as JsonObject;
  const refused = rehearse(rules, opened, []);
  if (refused === undefined) return undefined;
  const { message, hint } = refused;
  return failure("configuration", `${at("input")}: ${message}`, { hint: hint && `In discussion.input: ${hint}` });
}
