import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkGraph } from "../../src/kernel/graph.ts";
import type { GraphNode } from "../../src/lib/cycle.ts";
import { computing } from "../computing.ts";

const node = (id: string, ...depends_on: string[]): GraphNode => ({ id, depends_on });

function refusal(nodes: readonly GraphNode[]) {
  const checked = checkGraph(nodes);
  return checked.ok
    ? undefined
    : { code: checked.error.code, message: checked.error.message, pointer: checked.error.details?.pointer };
}

describe("checkGraph", () => {
  it("accepts a diamond in any order", () => {
    expect(checkGraph([node("d", "b", "c"), node("c", "a"), node("b", "a"), node("a")]).ok).toBe(true);
  });

  it("names a dependency that is not in the plan, and its place", () => {
    expect(refusal([node("a"), node("b", "a", "ghost")])).toEqual({
      code: "invalid_plan",
      message: 'task "b" depends on "ghost", which is not in the plan',
      pointer: "/tasks/1/dependencies/1",
    });
  });

  it("names an id that is used twice", () => {
    expect(refusal([node("a"), node("a")])).toMatchObject({
      message: 'task_id "a" is used twice',
      pointer: "/tasks/1/task_id",
    });
  });

  it("names a cycle as a path that ends where it began", () => {
    expect(refusal([node("in"), node("a", "in", "c"), node("b", "a"), node("c", "b")])?.message).toBe(
      "the dependencies form a cycle: a -> c -> b -> a",
    );
  });

  it("names a task that depends on itself", () => {
    expect(refusal([node("a", "a")])?.message).toContain("a -> a");
  });

  it("names the first ten of a long cycle, in linear time", () => {
    const cycle = (size: number) =>
      Array.from({ length: size }, (_, index) => node(`t${index}`, `t${(index + 1) % size}`));
    expect(refusal(cycle(10))?.message).toBe(
      "the dependencies form a cycle: t0 -> t1 -> t2 -> t3 -> t4 -> t5 -> t6 -> t7 -> t8 -> t9 -> t0",
    );
    const many = cycle(100_000);
    const chain = many.with(-1, node("t99999"));
    const toLookThrough = computing(() => expect(refusal(chain)).toBeUndefined());
    const toTell = computing(() =>
      expect(refusal(many)?.message).toBe(
        "the dependencies form a cycle: t0 -> t1 -> t2 -> t3 -> t4 -> t5 -> t6 -> t7 -> t8 -> t9 -> … and 99990 more -> t0",
      ),
    );
    // One more walk of the same length finds it.
    expect(toTell).toBeLessThan(10 * toLookThrough);
  });

  it("accepts a chain of 100,000 tasks", () => {
    const chain = Array.from({ length: 100_000 }, (_, index) =>
      index === 0 ? node("0") : node(String(index), String(index - 1)),
    );
    expect(checkGraph(chain.toReversed()).ok).toBe(true);
  });

  it("accepts exactly the graphs in which some order has every dependency first", () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 7 })
          .chain((size) =>
            fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 12 }).map((edges) => ({ size, edges })),
          ),
        ({ size, edges }) => {
          const nodes = Array.from({ length: size }, (_, index) =>
            node(String(index), ...edges.filter(([from]) => from === index).map(([, to]) => String(to))),
          );
          expect(checkGraph(nodes).ok).toBe(hasOrder(nodes));
        },
      ),
    );
  });
});

/** The definition, slowly: removes tasks without remaining dependencies until none can be removed. */
function hasOrder(nodes: readonly GraphNode[]): boolean {
  let left = [...nodes];
  for (;;) {
    const ids = new Set(left.map(({ id }) => id));
    const next = left.filter(({ depends_on }) => depends_on.some((id) => ids.has(id)));
    if (next.length === left.length) return left.length === 0;
    left = next;
  }
}
