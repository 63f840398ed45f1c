import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TimeLimits } from "../../src/agents/cli/time-limits.ts";
import { Cleanup, scratchDirectory } from "./cleanup.ts";
import { supervise } from "./supervised.ts";

const HOUR_MS = 3_600_000;

let cleanup: Cleanup;
let directory: string;

beforeEach(async () => {
  cleanup = new Cleanup();
  directory = await scratchDirectory(cleanup);
});
afterEach(() => cleanup.run());

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}

/** Limits that are passed so late, or never for 0. */
function limitsOf(ms: number): TimeLimits {
  const terms = { timeout_ms: ms, idle_timeout_ms: ms, answer_grace_ms: ms };
  return new TimeLimits(
    terms,
    () => false,
    () => {},
  );
}

describe("the time limits of a run", () => {
  test("take one timer, and none once the run is over, whatever comes after", () => {
    const before = timers();
    const limits = limitsOf(HOUR_MS);
    limits.given();
    expect(timers()).toBe(before + 1);
    limits.answered();
    expect(timers()).toBe(before + 1);
    limits.end();
    expect(timers()).toBe(before);
    limits.answered();
    expect(timers()).toBe(before);
  });

  test("take no timer where there are none", () => {
    const before = timers();
    limitsOf(0).given();
    expect(timers()).toBe(before);
  });
});

describe("the limit of an agent's silence", () => {
  test("does not count the time in which this process itself stood still", async () => {
    const { run } = await supervise(directory, cleanup, "sleep 2.9", { idle_timeout_ms: 1_500 });
    run.give("");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_700);
    expect(await run.ended).toMatchObject({ cause: "exited" });
  });

  test("does not count a standstill that was over before it passed either", async () => {
    const { run } = await supervise(directory, cleanup, "sleep 7.5", { idle_timeout_ms: 7_000 });
    run.give("");
    // Longer than from one look to the next, which is late therefore.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_200);
    expect(await run.ended).toMatchObject({ cause: "exited" });
  });

  test("passes also where it is longer than from one look at the time to the next", async () => {
    const { run } = await supervise(directory, cleanup, "sleep 600", { idle_timeout_ms: 5_200 });
    run.give("");
    expect(await run.ended).toMatchObject({ cause: "idle_timeout", spoke: false });
  });
});
