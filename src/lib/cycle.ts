/** A node that depends on others, by id. */
export interface GraphNode {
  readonly id: string;
  readonly depends_on: readonly string[];
}

/**
 * The ids of a cycle in order, or an empty list. Ids must be unique and known. Linear in nodes and edges, and not recursive, since plans may
 * be long chains.
 */
export function cycleIn(nodes: readonly GraphNode[]): string[] {
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
  // Every waiting node has a waiting dependency, so following those leads back to a node.
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const steps = new Map<string, number>();
  let { id } = from;
  while (!steps.has(id)) {
    steps.set(id, steps.size);
    id = byId.get(id)?.depends_on.find(isWaiting) ?? "";
  }
  return [...steps.keys()].slice(steps.get(id));
}
