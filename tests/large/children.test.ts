import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundled } from "../bench/bundled.ts";
import { type ChildrenCost, type ChildrenOrder } from "../bench/children.ts";
import { inProcess } from "../bench/measure.ts";

/** A descriptor that some shells leave open for their children. */
const LEFT_OPEN = 251;

describe("a scheduler with many live children", () => {
  test("holds little more memory for each than a bare spawn", async () => {
    const [floor, launched, supervised] = await bundled(async (program) => {
      const extent = { quick: true, rounds: 1, profile: undefined, program };
      const cost = (by: ChildrenOrder["by"]) =>
        inProcess<ChildrenCost>("children", { by, count: 400 }, extent, LEFT_OPEN);
      return [await cost("spawn"), await cost("launcher"), await cost("supervision")];
    });
    expect([launched.count, supervised.count]).toEqual([floor.count, floor.count]);
    // execa takes 7 times the memory.
    expect(launched.rss).toBeLessThan(floor.rss * 3);
    // Measured 1.0 and 1.6 times; live memory hardly varies.
    expect(launched.alive).toBeLessThan(floor.alive * 1.35);
    expect(supervised.alive).toBeLessThan(floor.alive * 2.1);
  });
});

test("limits the young generation of the heap from the first start on", () => {
  const young = (starts: number) =>
    Number(execFileSync(process.execPath, [join(import.meta.dirname, "children/young.ts"), String(starts)]));
  const kept = young(1);
  expect(kept).toBeLessThan(4 * 2 ** 20);
  expect(young(0)).toBeGreaterThan(2 * kept);
});
