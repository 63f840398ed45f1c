import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { onlySession, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

const THREE = tinyPlan(["one", "two", "three"].map((task_id) => ({ task_id, shell: `echo ${task_id} > ${task_id}` })));

/** A registry file of a manager that is not asked for anything, and a worker. */
function registry(here: Rig, worker: object): string {
  const roles = [
    { role_id: "boss", type: "manager", cli_command: ["false"] },
    { role_id: "shell", type: "worker", cli_command: [process.execPath, built("crew/shell.js")], ...worker },
  ];
  return here.write("roles.json", JSON.stringify({ roles }));
}

describe("the budget of a role", () => {
  it("stops with 5 and the command that gives it again, which resume alone does not", async () => {
    const here = rig();
    const roles = registry(here, { budget: { turns: 2 } });
    const stopped = await here.run(["run", "--plan", here.write("plan.json", THREE), "--roles", roles]);
    expect([stopped.stderr, stopped.code]).toEqual(["", 5]);
    const session_id = await onlySession(here);
    const remedy = `bosun resume ${session_id} --release shell`;
    expect(stopped.stdout).toContain('the role "shell" has used its budget of 2 turns');
    expect(stopped.stdout).toContain(`next    ${remedy}\n`);
    const status = await here.run(["status", session_id]);
    expect(status.stdout).toContain(`The role shell has used its budget of 2 turns\n      ${remedy}\n`);
    expect(await typedJson(here, ["status", session_id, "--json"])).toMatchObject({
      holds: [{ role_id: "shell", reason: "budget_exhausted", limit: { limit: "role_turns", used: 2, max: 2 } }],
    });
    expect((await here.run(["resume"])).code).toBe(5);
    const ended = await here.run(["resume", "--release", "shell"]);
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
    expect((await here.run(["replay", session_id, "--verify"])).code).toBe(0);
  });
});
