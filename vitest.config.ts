import { defineConfig } from "vitest/config";

/** What takes minutes: kills at every boundary, simulated sessions by the thousand, every call of storage failing once. */
const SURVIVAL = ["tests/{crash,simulation,failures}/**/*.test.ts"];

export default defineConfig({
  test: {
    globalSetup: "tests/build.ts",
    testTimeout: 90_000,
    hookTimeout: 60_000,
    // Whatever a test waits for comes from other processes, on a machine that is busy with more tests.
    expect: { poll: { timeout: 60_000, interval: 15 } },
    pool: "forks",
    // One more than CI has processors: a third of what tests take is waiting for other processes.
    maxWorkers: 3,
    projects: [
      { extends: true, test: { name: "main", include: ["tests/**/*.test.ts"], exclude: SURVIVAL } },
      { extends: true, test: { name: "survival", include: SURVIVAL } },
    ],
  },
});
