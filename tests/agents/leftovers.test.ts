import { spawn } from "node:child_process";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { environmentOf, pidsGivenSince } from "../../src/agents/process-table.ts";
import { AgentRig, type Puppet, REPORT, type RunningTurn } from "./rig.ts";
import { settled, spawnBelow } from "./settled.ts";
import { isLiving, killStray, livingInGroup } from "../processes.ts";

const onLinux = process.platform === "linux";

let rig: AgentRig;

beforeEach(async () => {
  rig = await AgentRig.open();
});

/** Starts more processes than are searched when none are expected to have escaped. */
function crowd(): void {
  for (let count = 0; count < 60; count += 1) {
    const { pid = 0 } = spawn("sleep", ["600"], { stdio: "ignore" });
    onTestFinished(() => killStray(pid));
  }
}

/**
 * Waits until a leftover of a turn can be found by a cheap search: its environment is readable, which takes a moment after the start, and
 * there is no crowd of another test.
 */
async function noticeable({ puppet }: RunningTurn, pid: number): Promise<void> {
  if (!onLinux) return;
  await expect.poll(() => environmentOf(pid)).toContain("BOSUN_SESSION_ID=s-1");
  await expect.poll(() => pidsGivenSince(puppet.pid).length).toBeLessThan(30);
}

describe("an agent that leaves processes behind", () => {
  test("in its group with its pipes: they are ended and the answer counts", async () => {
    const turn = await rig.turn();
    const child = await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: false, hold: true });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
    expect(isLiving(child)).toBe(false);
  });

  test("in its group, ignoring SIGTERM: they are killed despite a long kill grace", async () => {
    const turn = await rig.turn({ settings: { kill_grace_ms: 60_000 } });
    const deaf = ["sh", "-c", "trap '' TERM; sleep 600; sleep 600"];
    const child = await spawnBelow(turn.puppet, { command: deaf, detached: false, hold: false });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(isLiving(child)).toBe(false);
  });

  test("is not taken for an agent of another scheduler with the same turn", async () => {
    const turn = await rig.turn();
    const same = await rig.turn();
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    expect((await settled(turn)).failure).toBeUndefined();
    await same.puppet.print(REPORT);
    same.puppet.tell({ do: "exit", code: 0 });
    expect((await settled(same)).failure).toBeUndefined();
  });

  test("outside its group with its pipes: they do not delay the turn", async () => {
    const turn = await rig.turn();
    const stray = await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: true, hold: true });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
    expect(isLiving(stray)).toBe(!onLinux);
  });

  test.runIf(onLinux)("outside its group, ignoring SIGTERM, with children: all are killed", async () => {
    const turn = await rig.turn({ settings: { kill_grace_ms: 100 } });
    const deaf = ["sh", "-c", "trap '' TERM; sleep 600 & sleep 600"];
    const stray = await spawnBelow(turn.puppet, { command: deaf, detached: true, hold: false });
    await expect.poll(() => livingInGroup(stray)).toHaveLength(3);
    await turn.puppet.print(REPORT);
    await noticeable(turn, stray);
    turn.puppet.tell({ do: "exit", code: 0 });
    expect((await settled(turn)).failure).toBeUndefined();
    expect(isLiving(stray)).toBe(false);
    expect(livingInGroup(stray)).toEqual([]);
  });

  test("outside its group without its environment: they are found by descent", async () => {
    const turn = await rig.turn();
    const bare = ["env", "-i", "sh", "-c", "PATH=/usr/bin:/bin; sleep 600 & sleep 600"];
    const stray = await spawnBelow(turn.puppet, { command: bare, detached: true, hold: false });
    await expect.poll(() => livingInGroup(stray)).toHaveLength(3);
    turn.abort.abort();
    expect((await settled(turn)).failure?.code).toBe("cancelled");
    expect(livingInGroup(stray)).toEqual([]);
  });

  test.runIf(onLinux)("is not taken for another agent of the same session and ticket", async () => {
    const turn = await rig.turn();
    const other = await rig.turn({ request: { stamp: { turn_id: "t8", subject: "T-1", attempt: 2, run: 1 } } });
    const check = spawn("sleep", ["600"], {
      detached: true,
      stdio: "ignore",
      env: {
        PATH: process.env["PATH"],
        BOSUN_SESSION_ID: "s-1",
        BOSUN_TICKET_ID: "T-1",
        BOSUN_ARTIFACTS_DIR: join(rig.directory, "artifacts"),
      },
    });
    onTestFinished(() => killStray(check.pid ?? 0));
    await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: true, hold: true });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    await settled(turn);
    expect([isLiving(other.puppet.pid), isLiving(check.pid ?? 0)]).toEqual([true, true]);
  });

  test("that are not found, with its pipes: its answer counts without a line feed", async () => {
    const turn = await rig.turn();
    const hidden = ["env", "-i", "/bin/sh", "-c", "exec /bin/sleep 600"];
    const stray = await spawnBelow(turn.puppet, { command: hidden, detached: true, hold: true });
    await expect.poll(() => environmentOf(stray)).not.toContain("BOSUN_SESSION_ID=s-1");
    await turn.puppet.print(REPORT.trimEnd());
    turn.puppet.tell({ do: "exit", code: 0 });
    expect((await settled(turn)).answer).toBeDefined();
    expect(isLiving(stray)).toBe(true);
  });

  test.runIf(onLinux)("outside its group with its pipes: they are found among many processes", async () => {
    const turn = await rig.turn();
    crowd();
    const stray = await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: true, hold: true });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    await settled(turn);
    expect(isLiving(stray)).toBe(false);
  });

  test.runIf(onLinux)("as a daemon without its pipes: it is found among many after a second", async () => {
    const turn = await rig.turn();
    crowd();
    const daemon = await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: true, hold: false });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exitAfter", ms: 1_100, code: 0 });
    await settled(turn);
    expect(isLiving(daemon)).toBe(false);
  });

  test("outside its group with its pipes: the time limit holds", async () => {
    const prepare = async (puppet: Puppet) => {
      await spawnBelow(puppet, { command: ["sleep", "600"], detached: true, hold: true });
    };
    const turn = await rig.turn({ request: { timeout_ms: 50 }, prepare });
    const { failure } = await settled(turn);
    expect(failure?.code).toBe("timeout");
  });

  test("as a daemon without its pipes: it is ended", async () => {
    const turn = await rig.turn();
    const daemon = await spawnBelow(turn.puppet, { command: ["sleep", "600"], detached: true, hold: false });
    await turn.puppet.print(REPORT);
    await noticeable(turn, daemon);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(isLiving(daemon)).toBe(!onLinux);
  });
});
