import { expect, it } from "vitest";
import { typed } from "../in-process.ts";
import { rig, tinyPlan } from "../rig.ts";

it("says to whoever is to approve a revised plan which of its tasks are new", async () => {
  const here = rig();
  const manager = here.write(
    "manager.mjs",
    `import { readFileSync } from "node:fs";
    const { session_id, payload } = JSON.parse(readFileSync(0, "utf8"));
    const task = (task_id, description, ...dependencies) => ({ task_id, description, dependencies, review: "checks", instruction: { summary: "Do it." },
      acceptance_criteria: [{ text: "always", command: ["true"] }] });
    const first = [task("bad", "One way"), task("other", "Nobody needs it", "bad"), task("kept", "It stays", "bad")];
    const better = [task("bad", "Another way"), task("kept", "It stays", "bad"), task("first", "What was missing")];
    const tasks = payload.message.payload_type === "error" ? better : first;
    console.log(JSON.stringify({ session_id, source: payload.role_id, target: "scheduler", payload_type: "plan",
      version: "1.0", payload: { tasks } }));`,
  );
  const [crew, config] = [
    ["--manager", `${process.execPath} ${manager}`, "--worker", "false"],
    here.write("config.json", JSON.stringify({ plan_approval: "ask", max_retries: 0, max_workers: 1 })),
  ];
  expect((await typed(here, ["run", "Do it.", ...crew, "--config", config])).code).toBe(4);
  expect((await typed(here, ["plan"])).stdout).toMatch(/^A plan of 3 tasks\n\nTASK /);
  expect((await typed(here, ["plan", "--approve"])).code).toBe(0);
  expect((await typed(here, ["resume"])).code).toBe(4);
  expect((await typed(here, ["plan"])).stdout).toMatch(/^A revised plan of 3 tasks\n {2}new: first\n\nTASK /);
});

it("does not take a first plan for a revised one because a task of it was cancelled", async () => {
  const here = rig();
  const plan = here.write(
    "plan.json",
    tinyPlan([
      { task_id: "one", shell: "true" },
      { task_id: "two", shell: "true" },
    ]),
  );
  expect((await typed(here, ["run", "--plan", plan, "--plan-only"])).code).toBe(4);
  expect((await typed(here, ["plan"])).stdout).toMatch(/^A plan of 2 tasks\n/);
  expect((await typed(here, ["cancel", "two"])).code).toBe(0);
  expect((await typed(here, ["resume"])).code).toBe(4);
  expect((await typed(here, ["plan"])).stdout).toMatch(/^A plan of 2 tasks\n(?! {2}new)/);
});
