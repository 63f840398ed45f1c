import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./spec.ts";

const PAGE = readFileSync(join(ROOT, "docs", "acceptance.md"), "utf8");

/** The numbers in the first cell of each row below a heading. */
function pointsOf(heading: string): number[] {
  const [, part = ""] = PAGE.split(`\n## ${heading}`);
  const [rows = ""] = part.split("\n## ");
  return [...rows.matchAll(/^\| ([\d, –]+):/gm)].flatMap(([, numbers = ""]) =>
    numbers.split(", ").flatMap((range) => {
      const [from = 0, to = from] = range.split("–").map(Number);
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    }),
  );
}

test.each([
  ["Seed 0", 42],
  ["Seed 1", 48],
  ["Seed 2", 31],
  ["Seed 3", 56],
])("docs/acceptance.md shows every point of %s once", (heading, count) => {
  expect(pointsOf(heading).toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
});

test("docs/acceptance.md names files that are there", () => {
  const named = [...PAGE.matchAll(/`((?:[\w-]+\/)+[\w.-]+)`/g)].map(([, file = ""]) => file);
  const missing = named.filter((file) => !existsSync(join(ROOT, file)) && !existsSync(join(ROOT, "tests", file)));
  expect(missing).toEqual([]);
});
