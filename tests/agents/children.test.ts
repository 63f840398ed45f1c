import { describe, expect, test } from "vitest";
import { bundled } from "../bench/bundled.ts";
import { type ChildrenCost, type ChildrenOrder } from "../bench/children.ts";
import { inProcess } from "../bench/measure.ts";

describe("a scheduler with many live children", () => {
  test("holds hardly more memory for each than a bare spawn does", async () => {
    const [floor, launched] = await bundled(async (program) => {
      const extent = { quick: true, rounds: 1, profile: undefined, program };
      const cost = (by: ChildrenOrder["by"]) => inProcess<ChildrenCost>("children", { by, count: 400 }, extent);
      return [await cost("spawn"), await cost("launcher")];
    });
    expect(floor.count).toBe(launched.count);
    // Measured 1.5 times; what keeps promises, iterators and listeners for each takes 7 times.
    expect(launched.rss).toBeLessThan(floor.rss * 3);
  }, 60_000);
});
