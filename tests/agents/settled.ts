import { expect } from "vitest";
import type { TurnResult } from "../../src/kernel/agent.ts";
import type { Cleanup } from "./cleanup.ts";
import type { Puppet, RunningTurn } from "./rig.ts";
import { killStray, livingInGroup } from "../processes.ts";

/** How long after its own grace periods a turn may take to settle, on a machine that is busy with other things. */
export const SETTLE_MS = 2_000 + 8_000;

/** The result, with the two promises that hold for every turn: it settled in time, and nothing of its group is left. */
export async function settled({ result, puppet }: RunningTurn, within_ms = SETTLE_MS): Promise<TurnResult> {
  const before = performance.now();
  const end = await result;
  expect(performance.now() - before).toBeLessThan(within_ms);
  expect(livingInGroup(puppet.pid)).toEqual([]);
  return end;
}

/** Starts a process below the puppet; if `detached`, outside its group, so that the test must end it. */
export async function spawnBelow(
  cleanup: Cleanup,
  puppet: Puppet,
  order: { command: string[]; detached: boolean; hold: boolean },
): Promise<number> {
  const { pid } = (await puppet.ask({ do: "spawn", ...order }, "spawned")) as { pid: number };
  cleanup.add(() => killStray(pid));
  return pid;
}
