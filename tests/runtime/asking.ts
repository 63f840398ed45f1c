import type { Agent, Permission } from "../../src/kernel/agent.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { crew, instructed, report } from "./crew.ts";

const TASKS = [instructed("a"), instructed("b")];

/** A crew whose worker asks for a permission before it reports on `a`, as often as `times` says for each ticket. */
export function asking(
  times: Readonly<Record<string, number>> = { a: 1 },
  { tasks = TASKS, action = "run: npm publish", details = "npm publish --tag next" } = {},
): {
  readonly agentFor: (role: Role) => Agent;
  /** What each request led to, in order. */
  readonly heard: Permission[];
} {
  const heard: Permission[] = [];
  const agentFor = crew(tasks, {
    instruction: async ({ stamp }, context) => {
      for (let left = times[stamp.subject ?? ""] ?? 0; left > 0; left--)
        heard.push(await context.permit({ action, ...(details === "" ? {} : { details }), why: "It is ready." }));
      return report();
    },
  });
  return { agentFor, heard };
}
