import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";
import { letGo, taskRuns, WAITING_TASK } from "./waiting-task.ts";

const THREE = tinyPlan(["one", "two", "three"].map((task_id) => ({ task_id, shell: `echo ${task_id} > ${task_id}` })));

/** A registry file of a manager that is not asked for anything, and a worker. */
function registry(here: Rig, ...workers: readonly object[]): string {
  const roles = [
    { role_id: "boss", type: "manager", cli_command: ["false"] },
    ...workers.map((worker) => ({
      role_id: "shell",
      type: "worker",
      cli_command: [process.execPath, built("crew/shell.js")],
      ...worker,
    })),
  ];
  return here.write("roles.json", JSON.stringify({ roles }));
}

describe("the budget of a role", () => {
  it("stops with 5 and the command that renews it; resume alone does not", async () => {
    const here = rig();
    const roles = registry(here, { budget: { turns: 2 } });
    const stopped = await typed(here, ["run", "--plan", here.write("plan.json", THREE), "--roles", roles]);
    expect([stopped.stderr, stopped.code]).toEqual(["", 5]);
    const session_id = await onlySession(here);
    const remedy = `bosun resume ${session_id} --release shell`;
    expect(stopped.stdout).toContain('the role "shell" has used its budget of 2 turns');
    expect(stopped.stdout).toContain(`next    ${remedy}\n`);
    const status = await typed(here, ["status", session_id]);
    expect(status.stdout).toMatch(new RegExp(`shell[^]*budget_exhausted[^]*\n      ${remedy}\n`));
    expect(await typedJson(here, ["status", session_id, "--json"])).toMatchObject({
      holds: [{ role_id: "shell", reason: "budget_exhausted", limit: { limit: "role_turns", used: 2, max: 2 } }],
    });
    expect((await typed(here, ["resume"])).code).toBe(5);
    const misspelt = await typed(here, ["resume", "--release", "shelf"]);
    expect(misspelt.code).toBe(2);
    expect(misspelt.stderr).toContain('holds no role "shelf". Did you mean shell?\n  Held: shell.');
    const ended = await typed(here, ["resume", "--release", "shell"]);
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });
});

describe("a budget in money", () => {
  it("is refused for a program that reports no cost, until its role has a price", async () => {
    const here = rig();
    const plan = here.write("plan.json", THREE);
    const begin = (more: object) =>
      typed(here, [
        "run",
        "--plan",
        plan,
        "--roles",
        registry(here, { cli_command: ["codex"], ...more }),
        "--budget-usd",
        "5",
      ]);
    const refused = await begin({});
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/"shell" reports no cost[^]*"price"[^]*--budget-tokens/);
    expect((await begin({ price: { input_usd: 1, output_usd: 10 } })).stderr).not.toContain("reports no cost");
  });
});

describe("the budgets of two roles", () => {
  it("are renewed together, each by its role", async () => {
    const here = rig();
    const roles = registry(here, ...["one", "two"].map((role_id) => ({ role_id, budget: { turns: 1 } })));
    const task = (task_id: string, role_id: string) => ({ task_id, shell: "true", more: { assigned_to: { role_id } } });
    const plan = tinyPlan([task("a", "one"), task("b", "one"), task("c", "two"), task("d", "two")]);
    const stopped = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--roles", roles]);
    expect([stopped.stderr, stopped.code]).toEqual(["", 5]);
    const ended = await typed(here, ["resume", "--release", "one", "--release", "two"]);
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
  });
});

describe("a limit of tokens or money", () => {
  it("stops no embedded crew, which uses neither", async () => {
    const here = rig();
    const args = ["run", "--plan", here.write("plan.json", THREE), "--budget-tokens", "1", "--budget-usd", "0.01"];
    const ended = await typed(here, args);
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
  });
  it.each([
    ["tokens", { input_tokens: 600, output_tokens: 400 }, "1500", "--budget-tokens 4000"],
    ["usd", { cost_usd: 0.75 }, "1.2", "--budget-usd 3"],
  ])("in %s stops with 5 when it is reached, and a higher one continues", async (kind, usage, most, higher) => {
    const here = rig();
    const roles = registry(here, { cli_command: telling(usage) });
    const args = ["run", "--plan", here.write("plan.json", THREE), "--roles", roles, "--max-workers", "1"];
    const stopped = await typed(here, [...args, `--budget-${kind}`, most]);
    expect([stopped.stderr, stopped.code]).toEqual(["", 5]);
    const session_id = await onlySession(here);
    expect(stopped.stdout).toContain(`next    bosun resume ${session_id} ${higher}\n`);
    expect((await typed(here, ["resume"])).code).toBe(5);
    const ended = await typed(here, ["resume", ...higher.split(" ")]);
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("stops at the first turn of unknown cost, naming role and remedy", async () => {
    const here = rig();
    const roles = registry(here, { cli_command: telling({}) });
    const args = ["run", "--plan", here.write("plan.json", THREE), "--roles", roles, "--max-workers", "1"];
    const stopped = await typed(here, [...args, "--budget-usd", "3"]);
    expect(stopped.code).toBe(5);
    const session_id = await onlySession(here);
    expect(stopped.stdout).toMatch(/cost of turns of "shell" is unknown, so the limit of 3 USD/);
    expect(stopped.stdout).toContain(`next    bosun resume ${session_id} --budget-usd 3\n`);
    // Accepting it lets one more turn begin, whose cost is unknown as well.
    expect((await typed(here, ["resume", "--budget-usd", "3"])).code).toBe(5);
    const requests = readdirSync(join(here.home, "logs", session_id)).filter((name) => name.includes("turn_request"));
    expect(requests).toHaveLength(2);
  });
});

describe("a limit that is set during a session", () => {
  it("applies at once, also to a paused session; a deadline is refused", async () => {
    const here = rig();
    const plan = tinyPlan([WAITING_TASK, { task_id: "after", shell: "true", dependencies: ["wait"] }]);
    const running = here.start(["run", "--plan", here.write("plan.json", plan), "--budget-turns", "2"]);
    await taskRuns(here);
    expect((await typed(here, ["pause"])).code).toBe(0);
    const raised = await typed(here, ["resume", "--budget-turns", "50"]);
    expect([raised.code, raised.stderr]).toEqual([0, ""]);
    const refused = await typed(here, ["resume", "--deadline", "2h"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("--deadline");
    const unheeded = await typed(here, ["resume", "--budget-turns", "60", "--yes", "--answer", "a=b", "--detach"]);
    expect([unheeded.code, unheeded.stderr]).toEqual([2, expect.stringMatching(/--answer, --yes[^]*bosun stop/)]);
    expect((await typed(here, ["resume", "--yes"])).code).toBe(7);
    letGo(here);
    expect((await running.done).code).toBe(0);
  });
});

/** A worker that says what a turn took. */
function telling(usage: object): string[] {
  const report = JSON.stringify({ status: "completed", summary: "Done.", usage });
  const envelope = `{"session_id":"%s","source":"%s","target":"scheduler","payload_type":"report","version":"1.0","payload":%s}\\n`;
  return ["sh", "-c", `read -r line; printf '${envelope}' "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID" '${report}'`];
}
