import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundled } from "../bench/bundled.ts";
import { type ChildrenCost, type ChildrenOrder } from "../bench/children.ts";
import { inProcess } from "../bench/measure.ts";

describe("a scheduler with many live children", () => {
  test("holds at most 4 times the memory of a bare spawn for each", async () => {
    const [floor, launched, supervised] = await bundled(async (program) => {
      const extent = { quick: true, rounds: 1, profile: undefined, program };
      const cost = (by: ChildrenOrder["by"]) => inProcess<ChildrenCost>("children", { by, count: 400 }, extent);
      return [await cost("spawn"), await cost("launcher"), await cost("supervision")];
    });
    expect([launched.count, supervised.count]).toEqual([floor.count, floor.count]);
    expect(launched.rss).toBeLessThan(floor.rss * 4);
    // Measured 2.0 and 2.6 times, and 8 times with what execa keeps; live memory hardly varies.
    expect(launched.alive).toBeLessThan(floor.alive * 2.5);
    expect(supervised.alive).toBeLessThan(floor.alive * 3.2);
  });
});

test("limits the young generation of the heap from the first start on", () => {
  const young = (starts: number) =>
    Number(execFileSync(process.execPath, [join(import.meta.dirname, "children/young.ts"), String(starts)]));
  const kept = young(1);
  expect(kept).toBeLessThan(8 * 2 ** 20);
  expect(young(0)).toBeGreaterThan(2 * kept);
});
