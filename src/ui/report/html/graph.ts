import type { GraphNode } from "../../../lib/cycle.ts";
import { clip } from "../envelopes.ts";
import { placeNodes, routeEdges } from "./graph-layout.ts";
import { escapeMarkup, notDrawn } from "./markup.ts";
import type { Tone } from "../tone.ts";

/** A ticket in the drawing; `row` is its index in the list of tickets. */
export interface DrawnNode extends GraphNode {
  readonly tone: Tone;
  readonly status: string;
  readonly row: number;
}

const WIDTH = 150;
const HEIGHT = 26;
const BESIDE = 56;
const BELOW = 10;
const MARGIN = 16;

/** Maximum length of an id that fits in its box, in characters. */
const ID_LENGTH = 19;

/** More nodes make the drawing unreadable and the page slow to open. */
export const MAX_NODES = 1_500;

/** The dependencies of tickets as SVG, from left to right. Empty if no ticket depends on another; a note if there are too many tickets. */
export function drawGraph(nodes: readonly DrawnNode[]): string {
  if (!nodes.some(({ depends_on }) => depends_on.length > 0)) return "";
  if (nodes.length > MAX_NODES) return notDrawn(nodes.length, MAX_NODES);
  const routed = routeEdges(nodes);
  const placed = placeNodes([...routed.nodes, ...routed.bends]);
  const all = [...placed.values()];
  const top = Math.min(...all.map(({ place }) => place));
  const bottom = Math.max(...all.map(({ place }) => place));
  const layers = Math.max(...all.map(({ layer }) => layer)) + 1;
  const at = (id: string) => {
    const found = placed.get(id);
    if (found === undefined) return undefined;
    return { x: MARGIN + found.layer * (WIDTH + BESIDE), y: MARGIN + (found.place - top) * (HEIGHT + BELOW) };
  };
  const width = 2 * MARGIN + layers * WIDTH + (layers - 1) * BESIDE;
  const height = 2 * MARGIN + (bottom - top) * (HEIGHT + BELOW) + HEIGHT;
  const edges = [...routed.nodes, ...routed.bends].flatMap(({ id, depends_on }) =>
    depends_on.flatMap((before) => edge(at(before), at(id))),
  );
  const through = routed.bends.map(({ id }) => passage(at(id)));
  const boxes = nodes.map((node) => box(node, at(node.id)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" aria-label="Dependencies">`,
    `<path class="edge" d="${[...edges, ...through].join("")}"/>`,
    ...boxes,
    "</svg>",
  ].join("");
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function edge(from: Point | undefined, to: Point | undefined): string[] {
  if (from === undefined || to === undefined) return [];
  const [x1, y1] = [from.x + WIDTH, from.y + HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + HEIGHT / 2];
  const bend = Math.max(BESIDE / 2, (x2 - x1) / 2);
  return [`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`];
}

/** The part of an edge that passes through a layer. */
function passage(at: Point | undefined): string {
  return at === undefined ? "" : `M${at.x} ${at.y + HEIGHT / 2}h${WIDTH}`;
}

function box({ id, tone, status, row }: DrawnNode, at: Point | undefined): string {
  const { x, y } = at ?? { x: 0, y: 0 };
  const name = escapeMarkup(clip(id, ID_LENGTH));
  return (
    `<g class="node ${tone}" data-ticket="${row}"><title>${escapeMarkup(`${id}: ${status}`)}</title>` +
    `<rect x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="5"/>` +
    `<text x="${x + 8}" y="${y + 17}">${name}</text></g>`
  );
}
