import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ASKING, type Rig, rig, tinyPlan } from "./rig.ts";

const PLAN = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} >> out.txt" }], ASKING);

/** Runs a line of bash, whose `<(command)` names a pipe, with the files `plan`, `answers`, `config` and `roles`. */
function bash(here: Rig, line: string) {
  const files = {
    plan: here.write("plan", PLAN),
    answers: here.write("answers", "name: Ada\n"),
    config: here.write("config", "max_workers: 1\n"),
    roles: here.write("roles", 'roles: [{role_id: other, type: participant, cli_command: ["true"]}]\n'),
  };
  return spawnSync("bash", ["-c", line], {
    cwd: here.workspace,
    env: { ...here.environment, BOSUN_HOME: here.home, ...files },
    encoding: "utf8",
  });
}

function written(here: Rig): string {
  return readFileSync(join(here.workspace, "out.txt"), "utf8");
}

describe("a file that another program writes as it is read", () => {
  it("is taken for every option that reads one", () => {
    const here = rig();
    const options =
      '--plan <(cat "$plan") --answers <(sleep 0.2; cat "$answers") --config <(cat "$config") --roles <(cat "$roles")';
    const ran = bash(here, `bosun run ${options} --no-input`);
    expect(ran.stderr).toBe("");
    expect(ran.status).toBe(0);
    expect(written(here)).toBe("Ada\n");
  });

  it("is read once for a scheduler in its own process", () => {
    const here = rig();
    const begun = 'bosun run --plan <(cat "$plan") --answers <(cat "$answers") --session mine --detach';
    expect(bash(here, `${begun} && bosun wait mine`).status).toBe(0);
    expect(written(here)).toBe("Ada\n");
  });

  it("can be standard input, for answers before and after the question", async () => {
    const here = rig();
    const plan = here.write("plan.json", PLAN);
    const args = ["run", "--plan", plan, "--no-input", "--session"];
    const ran = await here.run([...args, "one", "--answers", "-"], { input: "name: Ada\n" });
    expect(ran.code).toBe(0);
    expect((await here.run([...args, "two"])).code).toBe(4);
    const wrong = await here.run(["answer", "two", "--file", "-"], { input: "name: [1]\n" });
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toContain("standard input:1");
    expect((await here.run(["answer", "two", "--file", "-", "--resume"], { input: "name: Bea\n" })).code).toBe(0);
    expect(written(here)).toBe("Ada\nBea\n");
  });
});
