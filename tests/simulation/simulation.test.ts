import { expect, it } from "vitest";
import { failureText, simulateMany, simulateTraced } from "./workers.ts";

/** `npm run simulate` runs other seeds. */
const SEEDS = Number(process.env["SEEDS"] ?? 1_000);

it("gives the same trace for the same seed, byte for byte, in every process", async () => {
  for (const seed of [2, 11, 87, 761]) {
    const [first, second] = await Promise.all([simulateTraced(seed), simulateTraced(seed)]);
    expect(first.trace?.length).toBeGreaterThan(20);
    expect(second).toEqual(first);
  }
});

it("breaks no promise in thousands of seeds", async () => {
  const totals = await simulateMany(1, SEEDS, 2);
  expect(totals.failed && (await failureText(totals.failed))).toBeUndefined();
  expect(totals.seeds).toBe(SEEDS);
  // Otherwise the seeds have proved little.
  expect(totals.crashes).toBeGreaterThan(SEEDS / 4);
  expect(totals.compared).toBeGreaterThan(SEEDS / 5);
  expect(totals.children).toBeGreaterThan(SEEDS / 10);
  expect(Object.entries(totals.plays).filter(([, seeds]) => seeds < SEEDS / 200)).toEqual([]);
  process.stdout.write(
    `${totals.seeds} seeds simulated (${totals.compared} compared): ${totals.events} events, ${totals.records} records, ${totals.children} child sessions, ${totals.crashes} crashes\n`,
  );
}, 600_000);
