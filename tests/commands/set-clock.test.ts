import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { rig, tinyPlan } from "./rig.ts";
import { letGo, taskRuns, WAIT } from "./waiting-task.ts";

const HOUR = 3_600_000;

/** The environment of a command whose wall clock is wrong. */
function wrongBy(ms: number): Record<string, string> {
  return { NODE_OPTIONS: `--import ${join(import.meta.dirname, "set-clock.mjs")}`, BOSUN_TEST_CLOCK_MS: String(ms) };
}

/** The times of a plain reporter's lines, in seconds of the day. */
function timesOf(stdout: string): number[] {
  return [...stdout.matchAll(/^(\d\d):(\d\d):(\d\d)\.\d+ /gm)].map(
    ([, hours, minutes, seconds]) => Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds),
  );
}

describe("when the wall clock is set", () => {
  it.each([2 * HOUR, -2 * HOUR])("forward or back by %d ms, a turn is as old as it is", async (by) => {
    const here = rig();
    const running = here.run(["run", "--plan", here.write("plan.json", WAIT), "--no-input", "--foreground"], {
      env: wrongBy(by),
    });
    const { session_id } = await taskRuns(here);
    expect((await typed(here, ["status", session_id])).stdout).toMatch(/Running: wait \(shell, \d+m?s\)/);
    expect((await typed(here, ["status", "--all"])).stdout).toMatch(
      new RegExp(`^${session_id} +running +\\d+m?s `, "m"),
    );
    letGo(here);
    expect((await running).code).toBe(0);
  });

  it("between two runs, all lines of the second are on one scale", async () => {
    const here = rig();
    const plan = here.write(
      "plan.json",
      tinyPlan([
        { task_id: "a", shell: "true" },
        { task_id: "b", shell: "true", dependencies: ["a"] },
      ]),
    );
    const args = ["run", "--plan", plan, "--no-input", "--foreground", "--session", "mine"];
    await here.run([...args, "--budget-turns", "2"], { env: wrongBy(3 * HOUR) });
    const { code, stdout } = await here.run(["resume", "mine", "--no-input", "--budget-turns", "100"]);
    expect(code).toBe(0);
    const times = timesOf(stdout);
    expect(times.length).toBeGreaterThan(3);
    // A session may work over midnight.
    const back = times.slice(1).map((time, index) => (((times[index] ?? 0) - time + 43_200) % 86_400) - 43_200);
    expect(Math.max(...back)).toBeLessThan(60);
  });
});
