import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../src/agents/launch.ts";
import type { Launched } from "../../src/agents/launcher.ts";
import type { Exit } from "../../src/protocol/record.ts";
import { gated } from "../../src/agents/gate.ts";
import { availableSandboxes } from "./sandboxes.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const SANDBOXES = [{ name: "no sandbox", mechanism: undefined }, ...(await availableSandboxes())];

type MechanismOrNone = (typeof SANDBOXES)[number]["mechanism"];

async function begun(
  mechanism: MechanismOrNone,
  script: string,
  expect_exit = 0,
): Promise<{ launched: Launched; ended: Promise<Exit> }> {
  const isolation = mechanism === undefined ? {} : { isolation: { level: "processes", required: true } as const };
  const { command, endedAs } = gated(["sh", "-c", script], expect_exit);
  const launched = await start({ command, directory: "/", environment: { PATH }, ...isolation }, mechanism);
  if (!launched.ok) throw new Error(launched.error.message);
  const { value } = launched;
  onTestFinished(() => {
    value.signalGroup("SIGKILL");
    value.destroyPipes();
  });
  value.stdin.end("go\n");
  return { launched: value, ended: value.exited.then(endedAs) };
}

describe.each(SANDBOXES)("a check that expects exit code 0, in $name", ({ mechanism }) => {
  test.each([
    ["exits with 0", "exit 0", { code: 0, signal: null }],
    ["exits with 1", "exit 1", { code: 1, signal: null }],
    ["exits with 2", "exit 2", { code: 2, signal: null }],
    ["dies of a signal", "kill -9 $$", { code: null, signal: "SIGKILL" }],
    ["dies of a real-time signal", "kill -34 $$", { code: 162, signal: null }],
    ["kills its own process group", "kill -34 0; sleep 600", { code: 97, signal: null }],
    ["exits with the swapped code", "exit 97", { code: 97, signal: null }],
  ])("reports a command that %s", async (_how, script, exit) => {
    expect(await (await begun(mechanism, script)).ended).toEqual(exit);
  });

  test("lets the command handle a signal or die of it", async () => {
    const told = async (script: string) => {
      const { launched, ended } = await begun(mechanism, script);
      await once(launched.stdout, "data");
      launched.signalGroup("SIGTERM");
      return ended;
    };
    const tidies = "trap 'sleep 0.1; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    expect(await told(tidies)).toEqual({ code: 5, signal: null });
    expect(await told("echo ready; exec sleep 600")).toEqual({ code: null, signal: "SIGTERM" });
  });
});

test.each([1, 3, 97, 128, 137])("a check that expects exit code %i reports the real exit", async (expect_exit) => {
  for (const code of new Set([0, 1, 97, expect_exit])) {
    expect(await (await begun(undefined, `exit ${code}`, expect_exit)).ended).toEqual({ code, signal: null });
  }
  const killed = { code: null, signal: "SIGKILL" };
  expect(await (await begun(undefined, "kill -9 $$", expect_exit)).ended).toEqual(killed);
});

const MECHANISMS = SANDBOXES.flatMap(({ name, mechanism }) => (mechanism === undefined ? [] : [{ name, mechanism }]));

test.each(MECHANISMS)("a check whose sandbox $name fails to start does not pass", async ({ mechanism }) => {
  const broken =
    mechanism.by === "unshare" ? { ...mechanism, unshare: "/bin/false" } : { ...mechanism, bwrap: "/bin/false" };
  expect(await (await begun(broken, "exit 0")).ended).toEqual({ code: 1, signal: null });
  expect((await (await begun(broken, "exit 1", 1)).ended).code).not.toBe(1);
});

// The wrapper of a sandbox is in the group, too, and ends of it.
test.each(["HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM"])(
  "a check that survives SIG%s to its own process group reports its exit",
  async (signal) => {
    const { ended } = await begun(undefined, `trap : ${signal}; kill -${signal} 0; exit 0`);
    expect(await ended).toEqual({ code: 0, signal: null });
  },
);
