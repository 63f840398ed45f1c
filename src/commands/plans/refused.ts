import type { LoadedPlan } from "../../config/plan-file.ts";
import { explain } from "../../config/problem.ts";
import { checkGraph } from "../../kernel/graph.ts";
import { circleIn, type GraphNode } from "../../lib/circle.ts";
import { type Failure, failure } from "../../protocol/failure.ts";

/** What the rules refuse of a plan, shown at its place in the file. */
export function placed(refused: Failure, { plan, source }: LoadedPlan): Failure {
  const pointer = typeof refused.details?.pointer === "string" ? refused.details.pointer : "";
  const { hint } = refused;
  // To the rules a circle is wrong with the tasks as a whole; whoever mends a file looks for where it begins.
  const circle = pointer === "/tasks" ? circleIn(nodesOf(plan)) : [];
  const first = plan.tasks.findIndex(({ task_id }) => task_id === circle[0]);
  const lines = explain(source.problem(first === -1 ? pointer : `/tasks/${first}`, refused.message));
  return failure("invalid_plan", lines.join("\n"), { hint: hint && sentence(hint) });
}

/** Why the tasks of a plan file cannot wait for each other as they do, shown likewise; undefined if they can. */
export function tangled(loaded: LoadedPlan): Failure | undefined {
  const checked = checkGraph(nodesOf(loaded.plan));
  return checked.ok ? undefined : placed(checked.error, loaded);
}

function nodesOf({ tasks }: LoadedPlan["plan"]): GraphNode[] {
  return tasks.map(({ task_id, dependencies = [] }) => ({ id: task_id, depends_on: dependencies }));
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}
