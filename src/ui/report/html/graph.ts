import { Graph, layout } from "@dagrejs/dagre";
import { depthsOf, type GraphNode } from "../../../lib/cycle.ts";
import { cut } from "../../../protocol/refusal.ts";
import type { Tone } from "../../../kernel/presentation.ts";
import { escapeMarkup, notDrawn } from "./markup.ts";

/** A ticket in the drawing; `row` is its index in the list of tickets. */
export interface DrawnNode extends GraphNode {
  readonly tone: Tone;
  readonly status: string;
  readonly row: number;
}

const WIDTH = 150;
const HEIGHT = 26;
const BESIDE = 56;
const MARGIN = 16;

/** The default ranker takes ten seconds for a thousand tickets. */
const LAYOUT = { rankdir: "LR", ranker: "tight-tree", ranksep: BESIDE, nodesep: 10, edgesep: 10 };

/** Maximum length of an id that fits in its box, in characters. */
const ID_LENGTH = 19;

/** More nodes make the drawing unreadable and the page slow to open. The layout recurses, and fails for a chain of 3,000. */
export const MAX_NODES = 1_000;

/** How many layers the edges may span together. The layout takes up to half a millisecond for each. */
const MAX_SPAN = 3_000;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** What is used of the layout's graph. The types that its package has do not resolve here. */
interface LayoutGraph {
  setGraph(options: object): void;
  setNode(name: string, size: object): void;
  setEdge(from: string, to: string, options: object): void;
  graph(): { readonly width: number; readonly height: number };
  node(name: string): Point;
  edge(from: string, to: string): { readonly points: readonly Point[] } | undefined;
}

/** The dependencies of tickets as SVG, from left to right. Empty if no ticket depends on another; a note if there are too many tickets. */
export function drawGraph(nodes: readonly DrawnNode[]): string {
  if (!nodes.some(({ depends_on }) => depends_on.length > 0)) return "";
  if (nodes.length > MAX_NODES) return notDrawn(nodes.length, MAX_NODES);
  const graph: LayoutGraph = new Graph();
  graph.setGraph({ ...LAYOUT, marginx: MARGIN, marginy: MARGIN });
  const known = withIndexes(nodes);
  for (const { id } of known) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  const edges = known.flatMap(({ id, depends_on }) => depends_on.map((before): Edge => [before, id]));
  for (const [before, id] of laidOut(known, edges)) graph.setEdge(before, id, {});
  layout(graph);
  const curves = edges.map(([before, id]) =>
    curve(graph.node(before), graph.edge(before, id)?.points ?? [], graph.node(id)),
  );
  const { width, height } = graph.graph();
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" aria-label="Dependencies">`,
    `<path class="edge" d="${curves.join("")}"/>`,
    ...nodes.map((node, index) => box(node, graph.node(String(index)))),
    "</svg>",
  ].join("");
}

type Edge = readonly [before: string, id: string];

/** The nodes by index and with known dependencies: the layout keeps nodes as properties, so an id such as `__proto__` is no name for it. */
function withIndexes(nodes: readonly GraphNode[]): GraphNode[] {
  const indexes = new Map(nodes.map(({ id }, index) => [id, String(index)]));
  return nodes.map(({ depends_on }, index) => {
    const known = new Set(depends_on.flatMap((before) => indexes.get(before) ?? []));
    return { id: String(index), depends_on: [...known].filter((before) => before !== String(index)) };
  });
}

/** The edges for the layout: all; or, if they span too many layers, only one to each node, and the others are drawn straight. */
function laidOut(nodes: readonly GraphNode[], edges: readonly Edge[]): readonly Edge[] {
  const depths = depthsOf(nodes);
  // Nodes in a cycle have no depth, and no end of layers to span.
  const spans = edges.map(([before, id]) => (depths.get(id) ?? Infinity) - (depths.get(before) ?? 0));
  if (spans.reduce((sum, span) => sum + span, 0) <= MAX_SPAN) return edges;
  const shortestLast = edges.toSorted(([a], [b]) => (depths.get(a) ?? 0) - (depths.get(b) ?? 0));
  return [...new Map(shortestLast.map((edge) => [edge[1], edge])).values()];
}

/** A curve that leaves and enters boxes at their sides, and is level at each point between. */
function curve(from: Point, [, ...points]: readonly Point[], to: Point): string {
  const stops = [...points.slice(0, -1), { x: to.x - WIDTH / 2, y: to.y }];
  let { x, y } = { x: from.x + WIDTH / 2, y: from.y };
  let path = `M${x} ${y}`;
  for (const next of stops) {
    const middle = Math.max(BESIDE / 4, (next.x - x) / 2);
    path += `C${x + middle} ${y} ${next.x - middle} ${next.y} ${next.x} ${next.y}`;
    ({ x, y } = next);
  }
  return path;
}

function box({ id, tone, status, row }: DrawnNode, { x, y }: Point): string {
  const [left, top] = [x - WIDTH / 2, y - HEIGHT / 2];
  return (
    `<g class="node ${tone}" data-ticket="${row}"><title>${escapeMarkup(`${id}: ${status}`)}</title>` +
    `<rect x="${left}" y="${top}" width="${WIDTH}" height="${HEIGHT}" rx="5"/>` +
    `<text x="${left + 8}" y="${top + 17}">${escapeMarkup(cut(id, ID_LENGTH))}</text></g>`
  );
}
