import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundled } from "../bench/bundled.ts";
import { type ChildrenCost, type ChildrenOrder } from "../bench/children.ts";
import { inProcess } from "../bench/measure.ts";

/** The pipe of some shells by which they wait for what they have started. */
const LEFT_OPEN = 251;

describe("a scheduler with many live children", () => {
  test("holds hardly more memory for each than a bare spawn does, whatever its parent has left open", async () => {
    const [floor, launched, supervised] = await bundled(async (program) => {
      const extent = { quick: true, rounds: 1, profile: undefined, program };
      const cost = (by: ChildrenOrder["by"]) =>
        inProcess<ChildrenCost>("children", { by, count: 400 }, extent, LEFT_OPEN);
      return [await cost("spawn"), await cost("launcher"), await cost("supervision")];
    });
    expect([launched.count, supervised.count]).toEqual([floor.count, floor.count]);
    // What keeps promises, iterators and listeners for each takes 7 times the memory.
    expect(launched.rss).toBeLessThan(floor.rss * 3);
    // Measured 1.0 and 1.6 times; what is alive hardly varies.
    expect(launched.alive).toBeLessThan(floor.alive * 1.35);
    expect(supervised.alive).toBeLessThan(floor.alive * 2.1);
  });
});

test("a heap that grows is young in little memory from the first start on, since each later one pays for all of it", () => {
  const young = (starts: number) =>
    Number(execFileSync(process.execPath, [join(import.meta.dirname, "children/young.ts"), String(starts)]));
  const kept = young(1);
  expect(kept).toBeLessThan(4 * 2 ** 20);
  expect(young(0)).toBeGreaterThan(2 * kept);
});
