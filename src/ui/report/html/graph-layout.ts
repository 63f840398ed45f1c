import type { GraphNode } from "../../../lib/cycle.ts";

/** The position of a node: its layer from the left, and its place in the layer from the top. */
export interface Placed {
  readonly layer: number;
  readonly place: number;
}

/** Number of ordering passes over the layers. More change little. */
const SWEEPS = 4;

/** More bends make the drawing too tall to be useful. */
const MAX_BENDS = 400;

/** The nodes, and the virtual nodes that stand for bends of edges. */
export interface Routed {
  readonly nodes: readonly GraphNode[];
  readonly bends: readonly GraphNode[];
}

/**
 * Adds a virtual node in every layer that an edge passes, so that edges run around the nodes there. Edges from one node share them. If there
 * would be too many, none are added.
 */
export function routeEdges(nodes: readonly GraphNode[]): Routed {
  const placed = placeNodes(nodes);
  const bends = new Map<string, GraphNode>();
  const routed = nodes.map(({ id, depends_on }) => ({
    id,
    depends_on: depends_on.map((before) => {
      const last = placed.get(id)?.layer ?? 0;
      // An unknown dependency has no layer to start from.
      const first = placed.get(before)?.layer ?? last;
      let previous = before;
      for (let layer = first + 1; layer < last; layer++) {
        // Ids contain no NUL.
        const bend = `${before}\u0000${layer}`;
        bends.set(bend, { id: bend, depends_on: [previous] });
        previous = bend;
      }
      return previous;
    }),
  }));
  return bends.size > MAX_BENDS ? { nodes, bends: [] } : { nodes: routed, bends: [...bends.values()] };
}

/**
 * Places nodes in layers: each node comes after all its dependencies, as early as possible. In a layer, nodes are ordered by the mean place
 * of their neighbours, so that few edges cross. Unknown dependencies and those that close a cycle do not count.
 */
export function placeNodes(nodes: readonly GraphNode[]): ReadonlyMap<string, Placed> {
  const before = new Map(nodes.map(({ id }) => [id, [] as string[]]));
  const after = new Map(nodes.map(({ id }) => [id, [] as string[]]));
  for (const { id, depends_on } of nodes) {
    for (const dependency of new Set(depends_on)) {
      if (!before.has(dependency) || dependency === id) continue;
      before.get(id)?.push(dependency);
      after.get(dependency)?.push(id);
    }
  }
  const layers = layersOf(before, after);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    const ordered = isForward ? layers : layers.toReversed();
    const neighbours = isForward ? before : after;
    const places = placesIn(layers);
    for (const layer of ordered.slice(1)) orderLayer(layer, neighbours, places);
  }
  const places = placesIn(layers);
  return new Map(
    layers.flatMap((layer, index) => layer.map((id) => [id, { layer: index, place: places.get(id) ?? 0 }] as const)),
  );
}

/** The ids by the longest path that leads to them. Nodes in a cycle, or behind one, come last. */
function layersOf(
  before: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
): string[][] {
  const awaited = new Map([...before].map(([id, ids]) => [id, ids.length]));
  const layers: string[][] = [];
  let next = [...awaited].flatMap(([id, count]) => (count === 0 ? [id] : []));
  while (next.length > 0) {
    layers.push(next);
    const later: string[] = [];
    for (const id of next) {
      awaited.delete(id);
      for (const dependent of after.get(id) ?? []) {
        const left = (awaited.get(dependent) ?? 0) - 1;
        awaited.set(dependent, left);
        if (left === 0) later.push(dependent);
      }
    }
    next = later;
  }
  if (awaited.size > 0) layers.push([...awaited.keys()]);
  return layers;
}

/** Centres each layer at 0, so that layers of different sizes can be compared. */
function placesIn(layers: readonly (readonly string[])[]): Map<string, number> {
  const places = new Map<string, number>();
  for (const layer of layers) layer.forEach((id, index) => places.set(id, index - (layer.length - 1) / 2));
  return places;
}

function orderLayer(
  layer: string[],
  neighbours: ReadonlyMap<string, readonly string[]>,
  places: Map<string, number>,
): void {
  const mean = new Map(
    layer.map((id) => {
      const near = neighbours.get(id) ?? [];
      const sum = near.reduce((total, one) => total + (places.get(one) ?? 0), 0);
      return [id, near.length === 0 ? (places.get(id) ?? 0) : sum / near.length];
    }),
  );
  layer.sort((a, b) => (mean.get(a) ?? 0) - (mean.get(b) ?? 0));
  layer.forEach((id, index) => places.set(id, index - (layer.length - 1) / 2));
}
