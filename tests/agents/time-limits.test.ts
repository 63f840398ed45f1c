import { beforeEach, describe, expect, test } from "vitest";
import { type TimeCause, TimeLimits } from "../../src/agents/cli/time-limits.ts";
import { scratchDirectory } from "./scratch.ts";
import { supervise } from "./supervised.ts";

const HOUR_MS = 3_600_000;

let directory: string;

beforeEach(() => {
  directory = scratchDirectory();
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}

/** Time limits in ms; 0 is no limit. */
function limitsOf(ms: number, passed: (cause: TimeCause) => void = () => {}): TimeLimits {
  const terms = { timeout_ms: ms, idle_timeout_ms: ms, answer_grace_ms: ms };
  return new TimeLimits(terms, () => false, passed);
}

describe("the time limits of a run", () => {
  test("use one timer, and none after the run is over", () => {
    const before = timers();
    const limits = limitsOf(HOUR_MS);
    limits.start();
    expect(timers()).toBe(before + 1);
    limits.answered();
    expect(timers()).toBe(before + 1);
    limits.end();
    expect(timers()).toBe(before);
    limits.answered();
    expect(timers()).toBe(before);
  });

  test("end an agent that has answered while it waits for a person", async () => {
    const { promise, resolve } = Promise.withResolvers<TimeCause>();
    const limits = limitsOf(50, resolve);
    limits.start();
    limits.suspend();
    limits.answered();
    expect(await promise).toBe("answered");
  });

  test("use no timer without limits", () => {
    const before = timers();
    limitsOf(0).start();
    expect(timers()).toBe(before);
  });
});

describe("the idle limit", () => {
  test("does not count a stall of this process", async () => {
    const { run } = await supervise(directory, "sleep 2.9", { idle_timeout_ms: 1_500 });
    run.give("");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_700);
    expect(await run.ended).toMatchObject({ cause: "exited" });
  });

  test("does not count a stall that ended before the limit", async () => {
    const { run } = await supervise(directory, "sleep 7.5", { idle_timeout_ms: 7_000 });
    run.give("");
    // Longer than the interval of checks, so the next check is late.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_200);
    expect(await run.ended).toMatchObject({ cause: "exited" });
  });

  test("passes when it is longer than the interval of checks", async () => {
    const { run } = await supervise(directory, "sleep 600", { idle_timeout_ms: 5_200 });
    run.give("");
    expect(await run.ended).toMatchObject({ cause: "idle_timeout", spoke: false });
  });
});
