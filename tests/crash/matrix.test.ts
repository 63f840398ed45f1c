import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Json } from "../../src/lib/json.ts";
import { CRASH_POINTS } from "../../src/lib/crash-point.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { anyDeaths, deathsAt, type Fate, fateText, randomFrom, readFate } from "./deaths.ts";
import { carryOut } from "./fate.ts";
import { cleanUp, leave, logOf, newPlace } from "./place.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import { essence, violationsOf } from "./violations.ts";

/** The least number of kills, and their seed. A single fate: `BOSUN_CRASH_FATE='work|turn_given:2,+120'`. */
const KILLS = Number(process.env["BOSUN_CRASH_KILLS"] ?? 100);
const SEED = Number(process.env["BOSUN_SEED"] ?? Date.now() % 1_000_000);
const ALONE = process.env["BOSUN_CRASH_FATE"];

/** Sessions at once: each waits for its agents half of the time. */
const AT_ONCE = 4;

/** How many deaths a fate has in a row. */
const DEATHS = 3;

/** A kill takes at least a fifth of a second on two processors, and more on fewer. */
const LIMIT_MS = 5 * 60_000 + KILLS * 1_500;

interface Undisturbed {
  readonly scenario: Scenario;
  readonly report: Json;
  readonly log: readonly LogRecord[];
  readonly takes_ms: number;
}

const undisturbed = new Map<string, Undisturbed>();
const kills = new Map<string, number>();
const random = randomFrom(SEED);

beforeAll(async () => {
  await inParallel(SCENARIOS, async (scenario) => {
    const place = newPlace(scenario);
    const began = performance.now();
    const outcome = await carryOut(place, []);
    const takes_ms = performance.now() - began;
    const violations = await violationsOf(place, outcome, undefined);
    if (violations.length > 0) throw new Error(`${scenario.name}, undisturbed: ${violations.join("\n")}`);
    undisturbed.set(scenario.name, {
      scenario,
      report: essence(place),
      log: logOf(place),
      takes_ms: takes_ms / outcome.lives,
    });
    leave(place);
  });
}, LIMIT_MS);

afterEach(cleanUp);

afterAll(() => {
  const table = [...kills].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([point, count]) => `${point} ${count}`);
  console.log(`${total()} kills (seed ${SEED}): ${table.join(", ")}`);
});

function total(): number {
  return [...kills.values()].reduce((sum, count) => sum + count, 0);
}

/** Carries fates out, several at once; returns the violations, each with the command that repeats it. */
async function suffer(fates: readonly Fate[]): Promise<string[]> {
  const violations: string[] = [];
  await inParallel(fates, async (fate) => {
    const expected = known(fate.scenario);
    const place = newPlace(expected.scenario);
    const outcome = await carryOut(place, fate.deaths);
    for (const point of outcome.kills) kills.set(point, (kills.get(point) ?? 0) + 1);
    const found = await violationsOf(place, outcome, expected.report);
    const repeat = `BOSUN_CRASH_FATE='${fateText(fate)}' npx vitest run tests/crash/matrix.test.ts`;
    if (found.length > 0) violations.push(`${repeat}\n  ${found.join("\n  ")}`);
    leave(place);
  });
  return violations;
}

function known(name: string): Undisturbed {
  const found = undisturbed.get(name);
  if (!found) throw new Error(`no scenario ${name}`);
  return found;
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

describe.skipIf(ALONE !== undefined)("a session whose scheduler is killed", () => {
  it(
    "at any crash point, first or later passing, ends as if undisturbed",
    async () => {
      const fates = CRASH_POINTS.flatMap((point, index) => {
        const passing = SCENARIOS.map(({ name }) => ({ name, fates: deathsAt(point, known(name).log, random) })).filter(
          ({ fates: found }) => found.length > 0,
        );
        // By default each death in one scenario, and later passings of a third of the points; with more kills all in all of them.
        if (KILLS > 300)
          return passing.flatMap(({ name, fates: found }) => found.map((deaths) => ({ scenario: name, deaths })));
        return (index % 3 === 0 ? [0, 1] : [0]).flatMap((nth) => {
          const [one] = shuffled(passing.filter(({ fates: found }) => found.length > nth));
          const deaths = one?.fates[nth];
          return one && deaths ? [{ scenario: one.name, deaths }] : [];
        });
      });
      expect(await suffer(fates)).toEqual([]);
      // A scheduler is killed there in tests/commands/council.test.ts.
      expect(CRASH_POINTS.filter((point) => !kills.has(point))).toEqual(["drop_read"]);
    },
    LIMIT_MS,
  );

  it(
    `at random times and points, again on resume, ends as if undisturbed`,
    async () => {
      const violations: string[] = [];
      for (let round = 0; total() < KILLS && round < KILLS; round += 1) {
        const fates = Array.from({ length: AT_ONCE * 2 }, (_, index): Fate => {
          const { scenario, log, takes_ms } = known(SCENARIOS[(round + index) % SCENARIOS.length]?.name ?? "");
          return { scenario: scenario.name, deaths: anyDeaths(DEATHS, log, takes_ms, random) };
        });
        violations.push(...(await suffer(fates)));
      }
      expect(violations).toEqual([]);
      expect(total()).toBeGreaterThanOrEqual(KILLS);
      console.log(`${total()} kills, 0 violations`);
    },
    LIMIT_MS,
  );
});

describe.runIf(ALONE !== undefined)("one fate", () => {
  it(`${ALONE}`, async () => expect(await suffer([readFate(ALONE ?? "")])).toEqual([]), LIMIT_MS);
});

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
