import { cycleIn, type GraphNode } from "../lib/cycle.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";

/** Maximum number of ids of a cycle that the failure names. */
const IDS_SHOWN = 10;

/**
 * Checks that ids are unique, that every dependency exists, and that dependencies form no cycle. Fails with `invalid_plan`, and names the id or the
 * first ids of the cycle.
 */
export function checkGraph(nodes: readonly GraphNode[]): Fallible<void> {
  const ids = new Set<string>();
  for (const [index, { id }] of nodes.entries()) {
    if (ids.has(id)) {
      return invalid(`task_id "${id}" is used twice`, `/tasks/${index}/task_id`, "give each task its own task_id");
    }
    ids.add(id);
  }
  for (const [index, { id, depends_on }] of nodes.entries()) {
    const unknown = depends_on.findIndex((dependency) => !ids.has(dependency));
    if (unknown === -1) continue;
    return invalid(
      `task "${id}" depends on "${depends_on[unknown]}", which is not in the plan`,
      `/tasks/${index}/dependencies/${unknown}`,
      "name a task_id of this plan",
    );
  }
  const [first, ...others] = cycleIn(nodes);
  if (first === undefined) return ok(undefined);
  const shown = [first, ...others.slice(0, IDS_SHOWN - 1)];
  const more = others.length + 1 - shown.length;
  const path = [...shown, ...(more > 0 ? [`… and ${more} more`] : []), first];
  return invalid(`the dependencies form a cycle: ${path.join(" -> ")}`, "/tasks", "remove one of these dependencies");
}

function invalid(message: string, pointer: string, hint: string): Fallible<never> {
  return fails("invalid_plan", message, { hint, details: { pointer } });
}
