import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { belongsToSession } from "../../src/agents/process-marker.ts";
import { endLeftovers, identify, isAlive, groupMembers, signalProcess } from "../../src/agents/processes.ts";
import {
  allPids,
  descendantsOf,
  entryOf,
  fewGivenSince,
  processTable,
  readPs,
} from "../../src/agents/process-table.ts";
import type { ProcessIdentity } from "../../src/kernel/agent.ts";
import { scratchDirectory } from "./scratch.ts";
import { isLiving, killStray, livingInGroup, stateOf } from "../processes.ts";

const onLinux = process.platform === "linux";
const PROCESSES = join(import.meta.dirname, "../../src/agents/processes.ts");

describe("a leftover process of a dead scheduler", () => {
  beforeEach(() => {});

  /** A shell in its own group that has printed "ready". */
  async function start(
    script: string,
    environment: Record<string, string> = {},
    given: readonly string[] = [],
  ): Promise<ProcessIdentity & { child: ChildProcess; said: string; begun: number }> {
    const child = spawn("sh", ["-c", script, ...given], {
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env["PATH"], ...environment },
    });
    const { pid = 0, stdout } = child;
    const begun = performance.now();
    const identity = identify(pid);
    onTestFinished(() => {
      killStray(-pid);
      stdout.destroy();
    });
    const [said] = (await once(stdout, "data")) as [Buffer];
    return { ...identity, child, said: said.toString(), begun };
  }

  /** The command lines of a group. Just after its start a process has none, and no readable environment. */
  const commandsOf = (group: number): string[] =>
    livingInGroup(group).map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim());

  const identityOf = ({ pid, started }: ProcessIdentity): ProcessIdentity => ({ pid, started });

  test("is ended with its whole group", async () => {
    const left = identityOf(await start("sleep 600 & sleep 600 & echo ready; wait"));
    expect(livingInGroup(left.pid).length).toBe(3);
    expect(await endLeftovers([left], 5_000)).toEqual([]);
    expect(livingInGroup(left.pid)).toEqual([]);
    expect(isAlive(left)).toBe(false);
  });

  test("is killed after the grace when it ignores SIGTERM", async () => {
    const left = identityOf(await start("trap '' TERM; sleep 600 & echo ready; wait; sleep 600"));
    const before = performance.now();
    expect(await endLeftovers([left], 150)).toEqual([]);
    expect(performance.now() - before).toBeGreaterThan(149);
    expect(livingInGroup(left.pid)).toEqual([]);
  });

  test("is ended without waiting for the grace when it is stopped", async () => {
    const { child, ...left } = await start("echo ready; kill -STOP $$; sleep 600");
    await expect.poll(() => stateOf(left.pid)).toMatch(/^T/);
    expect(await endLeftovers([left], 20_000)).toEqual([]);
    expect(child.signalCode ?? (await once(child, "exit"))[1]).toBe("SIGTERM");
  });

  test("is left alone when its pid belongs to another process now", async () => {
    const other = identityOf(await start("echo ready; sleep 600"));
    expect(await endLeftovers([{ pid: other.pid, started: `${other.started}0` }], 100)).toEqual([]);
    expect(await endLeftovers([{ pid: other.pid, started: "" }], 100)).toEqual([]);
    signalProcess({ pid: other.pid, started: `${other.started}0` }, "SIGKILL");
    expect(isAlive(other)).toBe(true);
    expect(isLiving(other.pid)).toBe(true);
  });

  const session = { session_id: "s-1", folder: "/somewhere/sessions/s-1" };
  const mark = { BOSUN_SESSION_ID: "s-1", BOSUN_ARTIFACTS_DIR: "/somewhere/sessions/s-1/work/T-1" };

  test.runIf(onLinux)("is ended after its leader when it has an agent's environment", async () => {
    const orphans = await start("sleep 600 & echo ready", mark);
    if (orphans.child.exitCode === null) await once(orphans.child, "exit");
    await expect.poll(() => commandsOf(orphans.pid)).toEqual(["sleep 600"]);
    expect(await endLeftovers([identityOf(orphans)], 5_000, session)).toEqual([]);
    expect(livingInGroup(orphans.pid)).toEqual([]);
  });

  test.runIf(onLinux)("is ended outside its group, even if its start is not on record", async () => {
    const left = await start("setsid sh -c 'sleep 600 & sleep 600' & setsid sleep 600 & echo ready; sleep 0.2", mark);
    if (left.child.exitCode === null) await once(left.child, "exit");
    const living = () => allPids().filter((pid) => belongsToSession(pid, session));
    await expect.poll(() => living().length).toBeGreaterThanOrEqual(3);
    expect(await endLeftovers([], 5_000, session)).toEqual([]);
    expect(living()).toEqual([]);
  });

  test("is ended without its environment as long as its ancestors live", async () => {
    const script = "setsid env -i PATH=$PATH sh -c 'sleep 600 & echo $$; sleep 600' & wait";
    const left = await start(script);
    const stray = Number(left.said);
    onTestFinished(() => killStray(-stray));
    await expect.poll(() => livingInGroup(stray).length).toBeGreaterThanOrEqual(3);
    expect(await endLeftovers([identityOf(left)], 5_000, session)).toEqual([]);
    expect([livingInGroup(left.pid), livingInGroup(stray)]).toEqual([[], []]);
  });

  test.runIf(onLinux)("is killed when it ignores SIGTERM and its ancestors do not", async () => {
    const deaf = "setsid env -i /bin/sh -c \"trap '' TERM; echo \\$\\$; while :; do /bin/sleep 600; done\" & wait";
    const left = await start(deaf);
    const stray = Number(left.said);
    onTestFinished(() => killStray(-stray));
    expect(await endLeftovers([identityOf(left)], 200, session)).toEqual([]);
    expect(isLiving(stray)).toBe(false);
  });

  test.runIf(onLinux)("is ended when it has left its group and is stopped", async () => {
    const left = await start("setsid sh -c 'echo $$; kill -STOP $$; sleep 600' & wait", mark);
    const stray = Number(left.said);
    onTestFinished(() => killStray(-stray));
    await expect.poll(() => stateOf(stray)).toMatch(/^T/);
    expect(await endLeftovers([identityOf(left)], 20_000, session)).toEqual([]);
    expect(isLiving(stray)).toBe(false);
  });

  test.runIf(onLinux)("is ended when the home is named through a symbolic link", async () => {
    const directory = scratchDirectory();
    const [real, link] = [join(directory, "home"), join(directory, "link")];
    await mkdir(join(real, "sessions/s-1/work/T-1"), { recursive: true });
    await symlink(real, link);
    for (const [then, now] of [
      [link, real],
      [real, link],
    ] as const) {
      const left = await start("sleep 600 & echo ready", {
        ...mark,
        BOSUN_ARTIFACTS_DIR: join(then, "sessions/s-1/work/T-1"),
      });
      if (left.child.exitCode === null) await once(left.child, "exit");
      await expect.poll(() => commandsOf(left.pid)).toEqual(["sleep 600"]);
      const folder = join(now, "sessions/s-1");
      expect(await endLeftovers([], 5_000, { session_id: "s-1", folder })).toEqual([]);
      expect(livingInGroup(left.pid)).toEqual([]);
    }
  });

  test("that starts another on SIGTERM: that one is killed, too", async () => {
    const left = identityOf(await start("trap 'sleep 600 & exec sleep 600' TERM; sleep 600 & echo ready; wait; wait"));
    expect(await endLeftovers([left], 300, session)).toEqual([]);
    expect(livingInGroup(left.pid)).toEqual([]);
  });

  test.runIf(onLinux)("that starts another outside its group on SIGTERM: that one is killed, too", async () => {
    const leave = "setsid env -i /bin/sh -c 'echo \\$\\$; exec /bin/sleep 600' &";
    const left = await start(`trap "${leave}" TERM; echo ready; while :; do sleep 600 & wait; done`);
    const [said] = (await Promise.all([
      once(left.child.stdout as Readable, "data"),
      endLeftovers([identityOf(left)], 2_000),
    ]).then(([heard]) => heard)) as [Buffer];
    const stray = Number(said.toString());
    onTestFinished(() => killStray(stray));
    expect([livingInGroup(left.pid), isLiving(stray)]).toEqual([[], false]);
  });

  test("that keeps starting others: all are killed", async () => {
    const script = "trap '' TERM; echo ready; while :; do sleep 600 & sleep 0.001; done";
    const left = await Promise.all(Array.from({ length: 6 }, () => start(script)));
    expect(await endLeftovers(left.map(identityOf), 100)).toEqual([]);
    expect(left.flatMap(({ pid }) => livingInGroup(pid))).toEqual([]);
  });

  test.runIf(onLinux)("is not a process of another session or home", async () => {
    const others = [
      await start("echo ready; sleep 600", { ...mark, BOSUN_SESSION_ID: "s-2" }),
      await start("echo ready; sleep 600", { ...mark, BOSUN_ARTIFACTS_DIR: "/elsewhere/sessions/s-1/work/T-1" }),
      await start("echo ready; sleep 600", { ...mark, BOSUN_ARTIFACTS_DIR: "/somewhere/sessions/s-10/work/T-1" }),
    ].map(identityOf);
    expect(await endLeftovers([], 50, session)).toEqual([]);
    expect(others.map(isAlive)).toEqual([true, true, true]);
  });

  test.runIf(onLinux)("is not this process, even if an agent of the session started it", async () => {
    const script = `
      import { endLeftovers, identify } from ${JSON.stringify(PROCESSES)};
      const left = await endLeftovers([identify(process.ppid)], 50, ${JSON.stringify(session)});
      console.log("alive", left.length);`;
    // Another process in its own group that has to be killed.
    const outer = await start(
      `trap '' TERM; sleep 600 & echo ready; "$0" --input-type=module -e "$1"; echo done`,
      mark,
      [process.execPath, script],
    );
    let { said } = outer;
    outer.child.stdout?.on("data", (bytes: Buffer) => (said += bytes.toString()));
    await expect.poll(() => said).toContain("alive 0\ndone\n");
  });

  test("is left alone after its leader without an agent's environment", async () => {
    const strangers = await start("sleep 600 & echo ready");
    if (strangers.child.exitCode === null) await once(strangers.child, "exit");
    await endLeftovers([identityOf(strangers)], 100);
    expect(livingInGroup(strangers.pid)).toHaveLength(1);
  });

  test("is never this process, the init process or pid 0", async () => {
    const self = identify(process.pid);
    const hostile = [self, identify(1), { pid: 0, started: "1" }, { pid: -1, started: "1" }];
    expect(await endLeftovers(hostile, 50)).toEqual([]);
    expect(isAlive(self)).toBe(true);
    expect(isAlive({ pid: 0, started: "" })).toBe(false);
  });

  test("that is gone costs no waiting", async () => {
    const { child, ...gone } = await start("echo ready");
    if (child.exitCode === null) await once(child, "exit");
    const before = performance.now();
    expect(await endLeftovers([gone], 20_000)).toEqual([]);
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  test("is in a process table read after its start", () => {
    // Without waiting in between: a table is cached until the next turn of the event loop.
    processTable(0);
    const { pid = 0 } = spawn("sleep", ["600"], { stdio: "ignore" });
    onTestFinished(() => killStray(pid));
    expect(processTable(performance.now()).entries.has(pid)).toBe(true);
  });

  test("is gone once it is dead, even if it is not reaped", async () => {
    const { pid } = await start("sleep 0.01 & echo $!; exec sleep 600");
    await expect.poll(() => processTable(performance.now()).entries.has(pid)).toBe(true);
    await expect.poll(() => groupMembers(pid, performance.now() - 60_000).map((member) => member.pid)).toEqual([pid]);
  });

  test.runIf(onLinux)("is read from /proc with any program name", async () => {
    const directory = scratchDirectory();
    const name = "a) Z 1 1 1 (b";
    await symlink("/bin/sleep", join(directory, name));
    const left = identityOf(await start('echo ready; exec "$0" 600', {}, [join(directory, name)]));
    await expect.poll(() => readFileSync(`/proc/${left.pid}/comm`, "utf8")).toBe(`${name}\n`);
    expect(entryOf(left.pid)).toMatchObject({ ...left, group: left.pid, parent: process.pid });
    expect(await endLeftovers([left], 5_000)).toEqual([]);
    expect(livingInGroup(left.pid)).toEqual([]);
  });

  test.runIf(onLinux)("is one process, however many threads it has", async () => {
    const { pid, begun } = await start('exec "$0" -e "console.log(1); setInterval(() => {}, 1000)"', {}, [
      process.execPath,
    ]);
    const threads = readdirSync(`/proc/${pid}/task`).map(Number);
    expect(threads.length).toBeGreaterThan(1);
    expect(fewGivenSince(pid)?.filter((given) => threads.includes(given)) ?? []).toEqual([]);
    for (const since of [begun, performance.now() - 60_000]) {
      expect(groupMembers(pid, since).map((member) => member.pid)).toEqual([pid]);
    }
  });

  test.runIf(onLinux)("has the same entry by ps", async () => {
    const { pid, started } = await start("sleep 600 & echo ready; wait");
    const [entry] = readPs(["-p", String(pid)]);
    const { parent, group } = entryOf(pid) ?? {};
    expect(entry).toMatchObject({ pid, parent, group, living: true });
    expect([entry?.started === "", started === ""]).toEqual([false, false]);
    const everybody = readPs(["-A"]);
    expect(everybody.find((one) => one.pid === pid)).toEqual(entry);
    const children = everybody.filter((one) => one.parent === pid).map((one) => one.pid);
    expect(children).toEqual(descendantsOf([pid], processTable(performance.now())).map((one) => one.pid));
    expect(readPs(["-p", "4194305"])).toEqual([]);
  });
});
