/** A node that depends on others, by id. */
export interface GraphNode {
  readonly id: string;
  readonly depends_on: readonly string[];
}

/**
 * The length of the longest path to each node, least first. Nodes in a cycle, or behind one, are left out; unknown dependencies do not count.
 * Linear in nodes and edges, and not recursive, since plans may be long chains.
 */
export function depthsOf(nodes: readonly GraphNode[]): Map<string, number> {
  const waiting = new Map(nodes.map(({ id }) => [id, 0]));
  const dependents = new Map<string, string[]>();
  for (const { id, depends_on } of nodes) {
    const known = [...new Set(depends_on)].filter((dependency) => waiting.has(dependency));
    waiting.set(id, known.length);
    for (const dependency of known) {
      const list = dependents.get(dependency);
      if (list) list.push(id);
      else dependents.set(dependency, [id]);
    }
  }
  const depths = new Map([...waiting].filter(([, count]) => count === 0));
  // The map grows while it is read, so the last dependency of a node has the greatest depth.
  for (const [id, depth] of depths) {
    for (const dependent of dependents.get(id) ?? []) {
      const left = (waiting.get(dependent) ?? 0) - 1;
      waiting.set(dependent, left);
      if (left === 0) depths.set(dependent, depth + 1);
    }
  }
  return depths;
}

/** The ids of a cycle in order, or an empty list. Ids must be unique and known. */
export function cycleIn(nodes: readonly GraphNode[]): string[] {
  const free = depthsOf(nodes);
  const from = nodes.find(({ id }) => !free.has(id));
  if (from === undefined) return [];
  // Every node without a depth has a dependency without one, so following those leads back to a node.
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const steps = new Map<string, number>();
  let { id } = from;
  while (!steps.has(id)) {
    steps.set(id, steps.size);
    id = byId.get(id)?.depends_on.find((before) => !free.has(before)) ?? "";
  }
  return [...steps.keys()].slice(steps.get(id));
}
