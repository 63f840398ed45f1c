import { describe, expect, it } from "vitest";
import { formatDuration } from "../../../src/lib/durations.ts";
import { drawGraph, MAX_NODES } from "../../../src/ui/report/html/graph.ts";
import { drawTimeline, ticksOf } from "../../../src/ui/report/html/timeline.ts";
import { computing } from "../../computing.ts";
import { SESSION } from "../model/session.ts";
import { gathered } from "./gathered.ts";

const drawn = (id: string, ...depends_on: string[]) =>
  ({ id, depends_on, tone: "plain", status: "done", row: 0 }) as const;

interface Box {
  readonly x: number;
  readonly y: number;
}

/** The boxes of a drawing, by ticket id. */
function boxesIn(svg: string): Map<string, Box> {
  const boxes = svg.matchAll(/<title>([^:]*): done<\/title><rect x="([\d.]+)" y="([\d.]+)"/g);
  return new Map(Array.from(boxes, ([, id = "", x, y]) => [id, { x: Number(x), y: Number(y) }]));
}

function boxIn(svg: string, id: string): Box {
  const box = boxesIn(svg).get(id);
  if (box === undefined) throw new Error(`There is no box for ${id}.`);
  return box;
}

/** The edges of a drawing, each as the points that it passes. */
function edgesIn(svg: string): Box[][] {
  const [, path = ""] = /<path class="edge" d="([^"]*)"/.exec(svg) ?? [];
  return path
    .split("M")
    .slice(1)
    .map((edge) =>
      edge.split("C").map((part) => {
        const [y = 0, x = 0] = part.split(" ").map(Number).toReversed();
        return { x, y };
      }),
    );
}

/** A plan in which every ticket depends on all before it. */
const dense = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    drawn(`n${index}`, ...Array.from({ length: index }, (_, before) => `n${before}`)),
  );

const chain = (count: number) =>
  Array.from({ length: count }, (_, index) => drawn(`n${index}`, ...(index > 0 ? [`n${index - 1}`] : [])));

describe("the drawing of dependencies", () => {
  it("places a ticket to the right of its dependencies", () => {
    const nodes = [drawn("d", "b", "c"), drawn("a"), drawn("b", "a"), drawn("c"), drawn("e", "d", "a")];
    const svg = drawGraph(nodes);
    for (const { id, depends_on } of nodes)
      for (const before of depends_on) expect(boxIn(svg, before).x).toBeLessThan(boxIn(svg, id).x);
  });

  it("lets edges cross only if they must", () => {
    const ids = ["a", "b", "c", "d"];
    const svg = drawGraph([...ids.map((id) => drawn(id)), ...ids.toReversed().map((id) => drawn(`${id}2`, id))]);
    for (const id of ids) expect(boxIn(svg, `${id}2`).y).toBe(boxIn(svg, id).y);
  });

  it("leads an edge from its box to the other, around the boxes between", () => {
    const svg = drawGraph([drawn("a"), drawn("b", "a"), drawn("c", "b", "a")]);
    const [a, b, c] = ["a", "b", "c"].map((id) => boxIn(svg, id));
    const around = edgesIn(svg)[2];
    expect(around?.at(0)).toEqual({ x: (a?.x ?? 0) + 150, y: (a?.y ?? 0) + 13 });
    expect(around?.at(-1)).toEqual({ x: c?.x, y: (c?.y ?? 0) + 13 });
    const beside = around?.find(({ x }) => x > (b?.x ?? 0) && x < (b?.x ?? 0) + 150);
    expect(Math.abs((beside?.y ?? 0) - (b?.y ?? 0) - 13)).toBeGreaterThan(13);
  });

  it("draws cycles, unknown dependencies, and ids that name properties of objects", () => {
    const ids = ["a", "b", "c", "d", "__proto__", "constructor"];
    const svg = drawGraph([
      drawn("a", "b"),
      drawn("b", "a"),
      drawn("c", "nowhere"),
      drawn("d", "d"),
      drawn("__proto__"),
      drawn("constructor", "__proto__"),
    ]);
    expect([...boxesIn(svg).keys()]).toEqual(ids);
    expect(edgesIn(svg)).toHaveLength(3);
  });

  it("draws the largest chain", () => {
    const svg = drawGraph(chain(MAX_NODES));
    expect(new Set(Array.from(boxesIn(svg).values(), ({ x }) => x)).size).toBe(MAX_NODES);
  });

  it("draws every dependency of a dense plan in seconds", () => {
    let svg = "";
    expect(computing(() => (svg = drawGraph(dense(150))))).toBeLessThan(5_000);
    expect(edgesIn(svg)).toHaveLength((150 * 149) / 2);
  });

  it("has a box for each ticket and escapes its id", () => {
    const svg = drawGraph([drawn('<a href="javascript:x">'), drawn("b", '<a href="javascript:x">')]);
    expect(svg.match(/<rect /g)).toHaveLength(2);
    expect(svg).not.toContain("<a");
  });

  it("is left out without dependencies, and replaced by a note for too many tickets", () => {
    expect(drawGraph([drawn("a"), drawn("b")])).toBe("");
    expect(drawGraph(chain(MAX_NODES + 1))).toContain(`${MAX_NODES + 1}, at most ${MAX_NODES}`);
  });
});

describe("the timeline", () => {
  it.each([1, 900, 6_000, 59_000, 600_000, 7_200_000, 400 * 86_400_000])(
    "has at most ten labels, all different, over %i ms",
    (length) => {
      const ticks = ticksOf(length);
      expect(ticks[0]).toBe(0);
      expect(ticks.length).toBeLessThanOrEqual(10);
      expect(ticks.every((tick) => tick <= length)).toBe(true);
      const labels = ticks.map((tick) => formatDuration(tick));
      expect(new Set(labels).size).toBe(labels.length);
    },
  );

  it("keeps spans inside the axis and wide enough to be seen", () => {
    const [from, to] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"];
    const turn = { turn_id: "t1", run: 1, role_id: "<b>", ticket_id: "build", failed: undefined };
    const turns = [
      { ...turn, from: "2025-12-31T23:00:00Z", to: "2026-01-01T09:00:00Z" },
      { ...turn, from: "2026-01-01T00:00:00.5Z", to: "2026-01-01T00:00:00.5Z" },
    ];
    const svg = drawTimeline({ ...gathered(SESSION), from, to, turns });
    const widths = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));
    expect(widths).toEqual([990, 2]);
    expect(svg).not.toContain("<b>");
  });

  it("is left out without turns", () => {
    expect(drawTimeline({ ...gathered(SESSION), turns: [] })).toBe("");
  });
});
