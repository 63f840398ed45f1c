import { describe, expect, it } from "vitest";
import { placeNodes, routeEdges } from "../../../src/ui/report/html/graph-layout.ts";
import { drawGraph, MAX_NODES } from "../../../src/ui/report/html/graph.ts";
import { drawTimeline, tickLabel, ticksOf } from "../../../src/ui/report/html/timeline.ts";

const node = (id: string, ...depends_on: string[]) => ({ id, depends_on });
const drawn = (id: string, ...depends_on: string[]) =>
  ({ ...node(id, ...depends_on), tone: "", status: "done", row: 0 }) as const;

/** Number of crossing pairs of edges between neighbouring layers. */
function crossings(nodes: readonly ReturnType<typeof node>[]): number {
  const placed = placeNodes(nodes);
  const edges = nodes.flatMap(({ id, depends_on }) =>
    depends_on.map((before) => [placed.get(before)?.place ?? 0, placed.get(id)?.place ?? 0] as const),
  );
  return edges.flatMap(([a, b], index) => edges.slice(index + 1).filter(([c, d]) => (a - c) * (b - d) < 0)).length;
}

describe("the layout of the dependency graph", () => {
  it("places a ticket after all its dependencies, as early as possible", () => {
    const placed = placeNodes([node("d", "b", "c"), node("a"), node("b", "a"), node("c"), node("e", "d", "a")]);
    const layers = [...placed].map(([id, { layer }]) => `${id}${layer}`);
    expect(layers.toSorted()).toEqual(["a0", "b1", "c0", "d2", "e3"]);
  });

  it("lets edges cross only if they must", () => {
    const nodes = [
      ...["a", "b", "c", "d"].map((id) => node(id)),
      ...["a", "b", "c", "d"].toReversed().map((id) => node(`${id}2`, id)),
    ];
    expect(crossings(nodes)).toBe(0);
  });

  it("leads an edge around the layers that it passes, and bundles the edges of one ticket", () => {
    const { nodes, bends } = routeEdges([node("a"), node("b", "a"), node("c", "b", "a"), node("d", "c", "a")]);
    expect(bends).toHaveLength(2);
    const placed = placeNodes([...nodes, ...bends]);
    const layers = ["a", "b", "c", "d"].map((id) => placed.get(id)?.layer);
    expect(layers).toEqual([0, 1, 2, 3]);
    const sameLayer = [...placed].filter(([, { layer }]) => layer === 1).map(([, { place }]) => place);
    expect(new Set(sameLayer).size).toBe(2);
  });

  it("places cycles, unknown dependencies, and a chain of ten thousand tickets", () => {
    const placed = placeNodes([node("a", "b"), node("b", "a"), node("c", "nowhere"), node("d", "d")]);
    expect([...placed.keys()].toSorted()).toEqual(["a", "b", "c", "d"]);
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      node(`n${index}`, ...(index > 0 ? [`n${index - 1}`] : [])),
    );
    expect(placeNodes(chain).get("n9999")?.layer).toBe(9_999);
  });
});

describe("the drawing of dependencies", () => {
  it("has a box for each ticket and escapes its id", () => {
    const svg = drawGraph([drawn('<a href="javascript:x">'), drawn("b", '<a href="javascript:x">')]);
    expect(svg.match(/<rect /g)).toHaveLength(2);
    expect(svg).not.toContain("<a");
  });

  it("is left out without dependencies, and replaced by a note for too many tickets", () => {
    expect(drawGraph([drawn("a"), drawn("b")])).toBe("");
    const many = Array.from({ length: MAX_NODES + 1 }, (_, index) => drawn(`n${index}`, ...(index > 0 ? ["n0"] : [])));
    expect(drawGraph(many)).toContain(`${MAX_NODES + 1}, at most ${MAX_NODES}`);
  });
});

describe("the timeline", () => {
  it.each([1, 900, 6_000, 59_000, 600_000, 7_200_000, 400 * 86_400_000])(
    "has between two and ten labels at round times over %i ms",
    (length) => {
      const ticks = ticksOf(length);
      expect(ticks[0]).toBe(0);
      expect(ticks.length).toBeLessThanOrEqual(10);
      expect(ticks.every((tick) => tick <= length)).toBe(true);
      const labels = ticks.map((tick) => tickLabel(tick, length));
      expect(new Set(labels).size).toBe(labels.length);
    },
  );

  it("keeps spans inside the axis and wide enough to be seen", () => {
    const spans = [{ from: -5_000, to: 99_000, kind: "worker", title: "x" } as const];
    const short = [{ from: 500, to: 500, kind: "bad", title: "y" } as const];
    const rows = [spans, short].map((spans, row) => ({ name: "<b>", row, spans, marks: [] }));
    const svg = drawTimeline(rows, 0, 1_000);
    const widths = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));
    expect(widths).toEqual([990, 2]);
    expect(svg).not.toContain("<b>");
  });

  it("is left out without turns", () => {
    expect(drawTimeline([{ name: "a", row: 0, spans: [], marks: [] }], 0, 1_000)).toBe("");
  });
});
