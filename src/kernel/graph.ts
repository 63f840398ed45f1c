import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";

/** A thing that waits for others, by id. */
export interface GraphNode {
  readonly id: string;
  readonly depends_on: readonly string[];
}

/** How many ids of a circle are told; where many tasks wait for each other, all of them would say no more. */
const IDS_SHOWN = 10;

/**
 * Checks that ids are unique, that every dependency exists, and that nothing waits for itself. Fails with `invalid_plan`,
 * naming the id, or the circle by its first ids. Linear in nodes and edges, and not recursive: plans may be long chains.
 */
export function checkGraph(nodes: readonly GraphNode[]): Result<void, Failure> {
  const byId = new Map<string, GraphNode>();
  for (const [index, node] of nodes.entries()) {
    if (byId.has(node.id)) {
      return invalid(`task_id "${node.id}" is used twice`, `/tasks/${index}/task_id`, "give each task its own task_id");
    }
    byId.set(node.id, node);
  }
  const waiting = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const [index, node] of nodes.entries()) {
    const distinct = new Set(node.depends_on);
    waiting.set(node.id, distinct.size);
    for (const dependency of distinct) {
      if (!byId.has(dependency)) {
        const pointer = `/tasks/${index}/dependencies/${node.depends_on.indexOf(dependency)}`;
        return invalid(
          `task "${node.id}" depends on "${dependency}", which is not in the plan`,
          pointer,
          "name a task_id of this plan",
        );
      }
      const list = dependents.get(dependency);
      if (list) list.push(node.id);
      else dependents.set(dependency, [node.id]);
    }
  }
  const ready = nodes.filter((node) => waiting.get(node.id) === 0).map((node) => node.id);
  let done = 0;
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    done += 1;
    for (const dependent of dependents.get(id) ?? []) {
      const left = (waiting.get(dependent) ?? 0) - 1;
      waiting.set(dependent, left);
      if (left === 0) ready.push(dependent);
    }
  }
  if (done === nodes.length) return ok(undefined);
  const [first = "", ...others] = circleIn(byId, waiting);
  const shown = [first, ...others.slice(0, IDS_SHOWN - 1)];
  const more = others.length + 1 - shown.length;
  const path = [...shown, ...(more > 0 ? [`… and ${more} more`] : []), first];
  return invalid(
    `the dependencies run in a circle: ${path.join(" -> ")}`,
    "/tasks",
    "remove one of these dependencies",
  );
}

/** The ids of a circle, in its order. Every node left waiting has a waiting dependency, so walking along those must come back. */
function circleIn(byId: ReadonlyMap<string, GraphNode>, waiting: ReadonlyMap<string, number>): string[] {
  const isWaiting = (id: string) => (waiting.get(id) ?? 0) > 0;
  const steps = new Map<string, number>();
  let id = [...byId.keys()].find(isWaiting) ?? "";
  while (!steps.has(id)) {
    steps.set(id, steps.size);
    id = byId.get(id)?.depends_on.find(isWaiting) ?? "";
  }
  return [...steps.keys()].slice(steps.get(id));
}

function invalid(message: string, pointer: string, hint: string): Result<never, Failure> {
  return err(failure("invalid_plan", message, { hint, details: { pointer } }));
}
