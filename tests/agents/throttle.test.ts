import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Throttle } from "../../src/agents/cli/throttle.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { AgentRig, envelope, REPORT } from "./rig.ts";

let rig: AgentRig;

beforeEach(async () => {
  rig = await AgentRig.open();
});

const PROGRESS = envelope("report", { status: "progress", summary: "On it." });

function paced(messages_per_minute: number): Role {
  return {
    role_id: "worker",
    type: "worker",
    cli_command: rig.puppetCommand,
    rate_limit: { messages_per_minute },
  };
}

const isEnvelope = ({ kind }: { kind: string }) => kind === "envelope";

describe("an agent over its rate limit", () => {
  test("is paused, and the pause does not count as idle", async () => {
    const limits = { idle_timeout_ms: 100, timeout_ms: 1_000 };
    // Its limits start after it has printed everything.
    const recorded = Promise.withResolvers<void>();
    const turn = await rig.turn({ request: { role: paced(2), ...limits }, started: recorded.promise });
    const { puppet, result, events } = turn;
    await puppet.print(PROGRESS);
    await turn.event(isEnvelope);
    await puppet.print(PROGRESS.repeat(2));
    await turn.event(() => events.filter(isEnvelope).length === 3);
    await puppet.print(PROGRESS);
    // Its answer waits in the pipe.
    await puppet.print(REPORT);
    recorded.resolve();
    expect(await result).toMatchObject({ failure: { code: "timeout" } });
  });

  test("that exits is read to the end at once", async () => {
    const turn = await rig.turn({ request: { role: paced(1) } });
    const { puppet, result, events } = turn;
    await puppet.print(PROGRESS);
    await turn.event(isEnvelope);
    await puppet.print(PROGRESS + REPORT);
    puppet.tell({ do: "exit", code: 0 });
    expect(await result).toMatchObject({ answer: { payload_type: "report" }, exit: { code: 0 } });
    expect(events).toHaveLength(2);
  });
});

describe("a throttle", () => {
  let throttles: Throttle[] = [];
  afterEach(() => {
    for (const throttle of throttles) throttle.close();
    throttles = [];
  });

  function throttleOf(messages_per_minute: number, window_ms: number): Throttle {
    const throttle = new Throttle(messages_per_minute, window_ms);
    throttles.push(throttle);
    return throttle;
  }

  /** How long it takes from the first of these messages until the next may come, in ms. */
  async function waited(take: () => Promise<void> | undefined): Promise<number> {
    const began = performance.now();
    await take();
    return performance.now() - began;
  }

  test("takes a window's messages at once, and the next a window after the first", async () => {
    const throttle = throttleOf(3, 1_000);
    const three = await waited(() => {
      expect([throttle.taken(), throttle.taken()]).toEqual([undefined, undefined]);
      return throttle.taken();
    });
    expect(three).toBeGreaterThan(999);
    // The first three hardly count any more.
    expect(await waited(() => throttle.taken())).toBeLessThan(500);
  });

  test("waits longer after messages of one chunk", async () => {
    const throttle = throttleOf(1, 100);
    const three = await waited(() => {
      const reliefs = [throttle.taken(), throttle.taken(), throttle.taken()];
      expect(new Set(reliefs).size).toBe(1);
      return reliefs[0];
    });
    expect(three).toBeGreaterThan(299);
  });

  test("of less than one a minute waits for the time of one message", async () => {
    const throttle = throttleOf(0.5, 50);
    expect(await waited(() => throttle.taken())).toBeGreaterThan(99);
  });

  test("ends its wait when it is closed", async () => {
    const throttle = throttleOf(1, 60_000);
    const relief = throttle.taken();
    throttle.close();
    expect(await waited(() => relief)).toBeLessThan(10_000);
    expect(throttle.taken()).toBeUndefined();
  });
});
