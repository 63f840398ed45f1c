import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Heap } from "../../src/lib/heap.ts";

interface Entry {
  position: number;
  readonly rank: number;
}

function drained(heap: Heap<Entry>): number[] {
  const ranks: number[] = [];
  for (let first = heap.first(); first !== undefined; first = heap.first()) {
    ranks.push(first.rank);
    heap.remove(first);
  }
  return ranks;
}

test("returns the entries that were not removed in order", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(1_000), fc.boolean()), { maxLength: 200, size: "max" }), (entries) => {
      const heap = new Heap<Entry>((a, b) => a.rank < b.rank);
      const added = entries.map(([rank, stays]) => ({ entry: { rank, position: -1 }, stays }));
      for (const { entry } of added) heap.add(entry);
      for (const { entry, stays } of added) if (!stays) heap.remove(entry);
      const left = added.filter(({ stays }) => stays).map(({ entry }) => entry.rank);
      expect(heap.size).toBe(left.length);
      expect(drained(heap)).toEqual(left.sort((a, b) => a - b));
    }),
    { numRuns: 500 },
  );
});

test("removing from the middle moves an entry up if it must", () => {
  const heap = new Heap<Entry>((a, b) => a.rank < b.rank);
  const [, , , removed] = [1, 10, 2, 20, 11, 3, 4, 21, 22, 12, 13, 5].map((rank) => {
    const entry = { rank, position: -1 };
    heap.add(entry);
    return entry;
  });
  // The last entry, 5, moves below 10.
  heap.remove(removed as Entry);
  expect(drained(heap)).toEqual([1, 2, 3, 4, 5, 10, 11, 12, 13, 21, 22]);
});
