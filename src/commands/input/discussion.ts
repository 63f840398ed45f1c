import type { Settings } from "../../config/settings.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";

/** What is wrong with the session in which proposals are to be discussed, before anything is begun for it: `configuration`. */
export async function discussionProblem(
  { values: { discussion }, origins }: Settings,
  roles: readonly Role[],
): Promise<Failure | undefined> {
  if (!discussion) return undefined;
  const { mode, input = {}, budget } = discussion;
  // What is left out stands nowhere, and there is no discussion without a mode.
  const at = (key: string) => (origins.get(`discussion.${key}`) ?? origins.get("discussion.mode"))?.where;
  if (mode !== "debate") {
    return failure("configuration", `${at("mode")}: There is no discussion in the mode "${mode}".`, {
      hint: 'Discussions can be a "debate".',
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
  const { readInput } = await import("../../modes/debate/input.ts");
  const read = readInput({ ...input, topic: "a proposal" }, roles);
  if (read.ok) return undefined;
  const { message, hint } = read.error;
  return failure(
    "configuration",
    `${at("input.debaters")}: ${message}`,
    hint === undefined ? {} : { hint: `In discussion.input: ${hint}` },
  );
}
