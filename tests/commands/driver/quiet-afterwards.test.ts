import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { typed } from "../in-process.ts";
import { rig, tinyPlan } from "../rig.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

it.each([[], ["--json"]])("leaves no timer behind, however the session is left: %j", async (...how) => {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }]));
  const left = async (...args: string[]) => {
    const { code } = await typed(here, [...args, ...how]);
    return { code, timers: vi.getTimerCount() };
  };
  expect(await left("run", "--plan", plan, "--session", "shown")).toEqual({ code: 0, timers: 0 });
  expect(await left("resume", "shown")).toEqual({ code: 0, timers: 0 });
  expect(await left("attach", "shown")).toEqual({ code: 0, timers: 0 });
  const database = new SqliteDatabase(join(here.home, "bosun.db"));
  database.exec(`UPDATE records SET line = '{"cut' WHERE sequence = 3`);
  database.close();
  expect(await left("attach", "shown")).toEqual({ code: 6, timers: 0 });
});
