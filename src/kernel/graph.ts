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
  const [first, ...others] = circleIn(nodes);
  if (first === undefined) return ok(undefined);
  const shown = [first, ...others.slice(0, IDS_SHOWN - 1)];
  const more = others.length + 1 - shown.length;
  const path = [...shown, ...(more > 0 ? [`… and ${more} more`] : []), first];
  return invalid(
    `the dependencies run in a circle: ${path.join(" -> ")}`,
    "/tasks",
    "remove one of these dependencies",
  );
}

/** The ids of a circle, in its order, where ids are unique and known; none if nothing waits for itself. */
export function circleIn(nodes: readonly GraphNode[]): string[] {
  const waiting = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const { id, depends_on } of nodes) {
    const distinct = new Set(depends_on);
    waiting.set(id, distinct.size);
    for (const dependency of distinct) {
      const list = dependents.get(dependency);
      if (list) list.push(id);
      else dependents.set(dependency, [id]);
    }
  }
  const ready = nodes.filter(({ id }) => waiting.get(id) === 0).map(({ id }) => id);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const dependent of dependents.get(id) ?? []) {
      const left = (waiting.get(dependent) ?? 0) - 1;
      waiting.set(dependent, left);
      if (left === 0) ready.push(dependent);
    }
  }
  const isWaiting = (id: string) => (waiting.get(id) ?? 0) > 0;
  const from = nodes.find(({ id }) => isWaiting(id));
  if (from === undefined) return [];
  // Every node left waiting has a waiting dependency, so walking along those must come back.
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const steps = new Map<string, number>();
  let { id } = from;
  while (!steps.has(id)) {
    steps.set(id, steps.size);
    id = byId.get(id)?.depends_on.find(isWaiting) ?? "";
  }
  return [...steps.keys()].slice(steps.get(id));
}

function invalid(message: string, pointer: string, hint: string): Result<never, Failure> {
  return err(failure("invalid_plan", message, { hint, details: { pointer } }));
}
