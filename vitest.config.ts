import { join, sep } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";

/**
 * Suites that take long: kills at every boundary, thousands of simulated sessions, failing storage calls, large inputs, agents that
 * misbehave, hostile clones, file modes, MCP, notifications and rebuilt homes, every mode and councils by their commands, people at a real terminal, viewers,
 * copies of repositories, sessions in the background, the demo, and the examples in every language.
 */
const SURVIVAL = [
  "tests/{crash,simulation,failures,large,examples,demo}/**/*.test.ts",
  "tests/{agents,runtime}/misbehaviour.test.ts",
  "tests/copies/**/*.test.ts",
  "tests/crew/examples.test.ts",
  "tests/commands/{attach,clone,copies,council,dashboard,detach,diff-take,discard,discussion,every-mode,hostile-clone,live,mcp,mcp-meeting}.test.ts",
  "tests/commands/{merge-undo,notify,planners,private-files,pull-request,rebuild,replay-player,watch}.test.ts",
  "tests/commands/interaction/{asking,interactive,people,saying}.test.ts",
  "tests/ui/tui/terminal.test.ts",
];

/** Whole sessions with the real agent programs, which it installs first (tests/real-agents/install.ts). */
const REAL_AGENTS = "tests/real-agents/**/*.test.ts";

const SOURCES = join(import.meta.dirname, "src") + sep;

/**
 * Sessions that run inside a test process start the bundled crew, like the shipped program. From sources each of a thousand starts would
 * take four times as long.
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
    // Tests wait for other processes on a busy machine.
    expect: { poll: { timeout: 60_000, interval: 15 } },
    pool: "forks",
    // Twice the processors of CI: tests mostly wait for other processes.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: { name: "main", isolate: false, include: ["tests/**/*.test.ts"], exclude: [...SURVIVAL, REAL_AGENTS] },
      },
      { extends: true, test: { name: "survival", include: SURVIVAL } },
      {
        extends: true,
        test: {
          name: "agents",
          include: [REAL_AGENTS],
          globalSetup: "tests/real-agents/install.ts",
          testTimeout: 180_000,
        },
      },
    ],
  },
});
