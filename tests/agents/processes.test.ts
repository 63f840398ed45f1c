import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { endLeftovers, findProcess, identify } from "../../src/agents/processes.ts";
import type { ProcessIdentity } from "../../src/kernel/agent.ts";
import { Cleanup, killStray, livingInGroup, stateOf } from "./cleanup.ts";

const onLinux = process.platform === "linux";

describe("what a dead scheduler left", () => {
  let cleanup: Cleanup;

  beforeEach(() => {
    cleanup = new Cleanup();
  });
  afterEach(() => cleanup.run());

  /** A shell in its own group that has said "ready". */
  async function start(
    script: string,
    environment: Record<string, string> = {},
  ): Promise<ProcessIdentity & { child: ChildProcess }> {
    const child = spawn("sh", ["-c", script], {
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env["PATH"], ...environment },
    });
    const { pid = 0, stdout } = child;
    const identity = identify(pid);
    cleanup.add(() => {
      killStray(-pid);
      stdout.destroy();
    });
    await once(stdout, "data");
    return { ...identity, child };
  }

  const identityOf = ({ pid, started }: ProcessIdentity): ProcessIdentity => ({ pid, started });

  test("is ended with its whole group", async () => {
    const left = identityOf(await start("sleep 600 & sleep 600 & echo ready; wait"));
    expect(livingInGroup(left.pid).length).toBe(3);
    expect(await endLeftovers([left], 5_000)).toEqual([]);
    expect(livingInGroup(left.pid)).toEqual([]);
    expect(findProcess(left)).toBe("gone");
  });

  test("is killed when it ignores SIGTERM, after the grace", async () => {
    const left = identityOf(await start("trap '' TERM; sleep 600 & echo ready; wait; sleep 600"));
    const before = performance.now();
    expect(await endLeftovers([left], 150)).toEqual([]);
    expect(performance.now() - before).toBeGreaterThan(149);
    expect(livingInGroup(left.pid)).toEqual([]);
  });

  test("is ended although it is stopped, without waiting for the grace", async () => {
    const { child, ...left } = await start("echo ready; kill -STOP $$; sleep 600");
    await expect.poll(() => stateOf(left.pid)).toMatch(/^T/);
    expect(await endLeftovers([left], 20_000)).toEqual([]);
    expect(child.signalCode ?? (await once(child, "exit"))[1]).toBe("SIGTERM");
  });

  test("is left alone when the pid now belongs to another process", async () => {
    const other = identityOf(await start("echo ready; sleep 600"));
    expect(await endLeftovers([{ pid: other.pid, started: `${other.started}0` }], 100)).toEqual([]);
    expect(await endLeftovers([{ pid: other.pid, started: "" }], 100)).toEqual([]);
    expect(findProcess(other)).toBe("alive");
  });

  test.runIf(onLinux)("is ended when its leader is gone and the rest carries an agent's environment", async () => {
    const orphans = await start("sleep 600 & echo ready", { BOSUN_SESSION_ID: "s-1" });
    if (orphans.child.exitCode === null) await once(orphans.child, "exit");
    expect(livingInGroup(orphans.pid)).toHaveLength(1);
    await endLeftovers([identityOf(orphans)], 5_000);
    expect(livingInGroup(orphans.pid)).toEqual([]);
  });

  test("is left alone when its leader is gone and the rest could be anybody's", async () => {
    const strangers = await start("sleep 600 & echo ready");
    if (strangers.child.exitCode === null) await once(strangers.child, "exit");
    await endLeftovers([identityOf(strangers)], 100);
    expect(livingInGroup(strangers.pid)).toHaveLength(1);
  });

  test("never includes this process, the init process or pid 0", async () => {
    const self = identify(process.pid);
    const hostile = [self, identify(1), { pid: 0, started: "1" }, { pid: -1, started: "1" }];
    expect(await endLeftovers(hostile, 50)).toEqual([]);
    expect(findProcess(self)).toBe("alive");
    expect(findProcess({ pid: 0, started: "" })).toBe("gone");
  });

  test("that was gone already costs no waiting", async () => {
    const { child, ...gone } = await start("echo ready");
    if (child.exitCode === null) await once(child, "exit");
    const before = performance.now();
    expect(await endLeftovers([gone], 20_000)).toEqual([]);
    expect(performance.now() - before).toBeLessThan(5_000);
  });
});
