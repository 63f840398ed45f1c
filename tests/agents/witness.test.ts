import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { start } from "../../src/agents/launch.ts";
import type { Launched } from "../../src/agents/launcher.ts";
import { Cleanup } from "./cleanup.ts";
import { waysOfThisMachine } from "./ways.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const WAYS = [{ name: "no sandbox", way: undefined }, ...(await waysOfThisMachine())];

describe.each(WAYS)("a program of which a zero is to be proved, in $name", ({ way }) => {
  const cleanup = new Cleanup();
  afterEach(() => cleanup.run());

  async function launch(command: readonly string[]): Promise<Launched> {
    const isolation = way === undefined ? {} : { isolation: { level: "processes", required: true } as const };
    const spec = { command, directory: "/", environment: { PATH }, provesZero: true, ...isolation };
    const launched = await start(spec, way);
    if (!launched.ok) throw new Error(launched.error.message);
    const { value } = launched;
    cleanup.add(() => {
      value.signalGroup("SIGKILL");
      value.destroyPipes();
    });
    return value;
  }

  test.each([
    ["exits with 0", "exit 0", { code: 0, signal: null }],
    ["exits with 1", "exit 1", { code: 1, signal: null }],
    ["exits with 2", "exit 2", { code: 2, signal: null }],
    ["dies of a signal", "kill -9 $$", { code: null, signal: "SIGKILL" }],
    ["dies of a real-time signal", "kill -34 $$", { code: 162, signal: null }],
    ["dies of one that its whole group is sent", "kill -34 0; sleep 600", { code: 1, signal: null }],
  ])("and that %s, is told to end so", async (_how, script, exit) => {
    expect(await (await launch(["sh", "-c", script])).exited).toEqual(exit);
  });

  test("can end in its own way when it is told to, or ends of it", async () => {
    const told = async (script: string) => {
      const launched = await launch(["sh", "-c", script]);
      await once(launched.stdout, "data");
      launched.signalGroup("SIGTERM");
      return launched.exited;
    };
    const tidies = "trap 'sleep 0.1; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    expect(await told(tidies)).toEqual({ code: 5, signal: null });
    expect(await told("echo ready; exec sleep 600")).toEqual({ code: null, signal: "SIGTERM" });
  });
});
