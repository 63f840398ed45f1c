import { join, sep } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";

/** Suites that take minutes: kills at every boundary, thousands of simulated sessions, failing storage calls, large inputs. */
const SURVIVAL = ["tests/{crash,simulation,failures,large}/**/*.test.ts"];

const SOURCES = join(import.meta.dirname, "src") + sep;

/**
 * What runs in a test's own process starts the bundled crew, as what users have does. From its sources, with nothing of it compiled
 * beforehand, each of a thousand starts would take four times as long.
 */
const bundledCrew: Plugin = {
  name: "bundled-crew",
  enforce: "pre",
  resolveId: (path, importer) =>
    path.endsWith("/installation.ts") && importer?.startsWith(SOURCES)
      ? join(import.meta.dirname, "tests", "installation.ts")
      : undefined,
};

export default defineConfig({
  plugins: [bundledCrew],
  test: {
    globalSetup: "tests/build.ts",
    testTimeout: 90_000,
    hookTimeout: 60_000,
    // Whatever a test waits for comes from other processes, on a machine that is busy with more tests.
    expect: { poll: { timeout: 60_000, interval: 15 } },
    pool: "forks",
    // Twice as many as CI has processors: much of what tests take is waiting for other processes.
    maxWorkers: 4,
    projects: [
      { extends: true, test: { name: "main", isolate: false, include: ["tests/**/*.test.ts"], exclude: SURVIVAL } },
      { extends: true, test: { name: "survival", include: SURVIVAL } },
    ],
  },
});
