import { appendFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { onlySession, typed } from "../in-process.ts";
import { rig, tinyPlan } from "../rig.ts";

it("marks unchecked results as neither good nor bad", async () => {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }]));
  expect((await typed(here, ["run", "--plan", plan])).code).toBe(0);
  const log = join(here.home, "logs", await onlySession(here));
  const marks = async () => {
    const { stdout } = await typed(here, ["replay", "--verify"]);
    return Array.from(stdout.matchAll(/^ {2}(\S\S) {2}([a-z]+)/gm), ([, mark, name]) => `${mark} ${name}`);
  };
  expect(await marks()).toEqual(["ok integrity", "ok completeness", "ok decisions", "-- authenticity"]);
  appendFileSync(join(log, readdirSync(log).find((name) => name.startsWith("000005")) ?? ""), " ");
  expect(await marks()).toEqual(["!! integrity", "ok completeness", "-- decisions", "-- authenticity"]);
  rmSync(log, { recursive: true });
  expect(await marks()).toEqual(["-- integrity", "!! completeness", "-- decisions", "-- authenticity"]);
});
