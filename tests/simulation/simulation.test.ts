import { expect, it } from "vitest";
import { failureText, simulateMany, simulateTraced } from "./workers.ts";

/** How many, and from where: `npm run simulate` lives through others. */
const SEEDS = Number(process.env["SEEDS"] ?? 10_000);

it("a seed is the same to the byte every time, in whatever process", async () => {
  for (const seed of [2, 11, 87, 761]) {
    const [first, second] = await Promise.all([simulateTraced(seed), simulateTraced(seed)]);
    expect(first.trace?.length).toBeGreaterThan(20);
    expect(second).toEqual(first);
  }
});

it("no promise is broken in any of ten thousand seeds", async () => {
  const told = await simulateMany(1, SEEDS, 2);
  expect(told.failed && (await failureText(told.failed))).toBeUndefined();
  expect(told.seeds).toBe(SEEDS);
  // Else the seeds had nothing to show.
  expect(told.crashes).toBeGreaterThan(SEEDS / 4);
  expect(told.compared).toBeGreaterThan(SEEDS / 5);
  expect(told.children).toBeGreaterThan(SEEDS / 10);
  process.stdout.write(
    `${told.seeds} seeds simulated (${told.compared} compared): ${told.events} events, ${told.records} records, ${told.children} child sessions, ${told.crashes} crashes\n`,
  );
}, 600_000);
