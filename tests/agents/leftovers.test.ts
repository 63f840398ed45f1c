import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cleanup, isLiving } from "./cleanup.ts";
import { AgentRig, type Puppet, REPORT } from "./rig.ts";
import { settled, spawnBelow } from "./settled.ts";

let cleanup: Cleanup;
let rig: AgentRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await AgentRig.open(cleanup);
});
afterEach(() => cleanup.run());

describe("an agent that leaves processes behind", () => {
  test("in its group, holding its pipes, has them ended and its answer counts", async () => {
    const turn = await rig.turn();
    const child = await spawnBelow(cleanup, turn.puppet, { command: ["sleep", "600"], detached: false, hold: true });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
    expect(isLiving(child)).toBe(false);
  });

  test("in its group, deaf to SIGTERM and holding no pipe, has them killed after a normal exit", async () => {
    const turn = await rig.turn({ settings: { kill_grace_ms: 100 } });
    const deaf = ["sh", "-c", "trap '' TERM; sleep 600; sleep 600"];
    const child = await spawnBelow(cleanup, turn.puppet, { command: deaf, detached: false, hold: false });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(isLiving(child)).toBe(false);
  });

  test("outside its group, holding its pipes, does not delay the turn", async () => {
    const turn = await rig.turn();
    const stray = await spawnBelow(cleanup, turn.puppet, { command: ["sleep", "600"], detached: true, hold: true });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure, answer } = await settled(turn);
    expect(failure).toBeUndefined();
    expect(answer).toBeDefined();
    expect(isLiving(stray)).toBe(true);
  });

  test("outside its group, holding its pipes, has answered even without a line feed", async () => {
    const turn = await rig.turn();
    await spawnBelow(cleanup, turn.puppet, { command: ["sleep", "600"], detached: true, hold: true });
    await turn.puppet.print(REPORT.trimEnd());
    turn.puppet.tell({ do: "exit", code: 0 });
    expect((await settled(turn)).answer).toBeDefined();
  });

  test("outside its group, holding its pipes, does not defeat the time limit", async () => {
    const prepare = async (puppet: Puppet) => {
      await spawnBelow(cleanup, puppet, { command: ["sleep", "600"], detached: true, hold: true });
    };
    const turn = await rig.turn({ request: { timeout_ms: 50 }, prepare });
    const { failure } = await settled(turn);
    expect(failure?.code).toBe("timeout");
  });

  test("as a daemon without its pipes has simply answered", async () => {
    const turn = await rig.turn();
    await spawnBelow(cleanup, turn.puppet, { command: ["sleep", "600"], detached: true, hold: false });
    await turn.puppet.print(REPORT);
    turn.puppet.tell({ do: "exit", code: 0 });
    const { failure } = await settled(turn);
    expect(failure).toBeUndefined();
  });
});
