import { expect, onTestFinished } from "vitest";
import type { TurnResult } from "../../src/kernel/agent.ts";
import type { Puppet, RunningTurn } from "./rig.ts";
import { killStray, livingInGroup } from "../processes.ts";

/** How long after its grace periods a turn may take to settle on a busy machine. */
export const SETTLE_MS = 2_000 + 8_000;

/** The result of a turn; checks that it settled in time and that its group is gone. */
export async function settled({ result, puppet }: RunningTurn, within_ms = SETTLE_MS): Promise<TurnResult> {
  const before = performance.now();
  const end = await result;
  expect(performance.now() - before).toBeLessThan(within_ms);
  expect(livingInGroup(puppet.pid)).toEqual([]);
  return end;
}

/** Starts a child of the puppet; a `detached` one is outside its group, and the test ends it. */
export async function spawnBelow(
  puppet: Puppet,
  order: { command: string[]; detached: boolean; hold: boolean },
): Promise<number> {
  const { pid } = (await puppet.ask({ do: "spawn", ...order }, "spawned")) as { pid: number };
  onTestFinished(() => killStray(pid));
  return pid;
}
