import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { sandboxMechanism } from "../../src/agents/isolation/probe.ts";
import type { FinalReport } from "../../src/protocol/generated/types.ts";
import { livingWith, pathOf } from "../agents/sandboxes.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

const HAS_PROCESSES = (await sandboxMechanism("processes", process.env["PATH"])).ok;
const HAS_FILES = (await sandboxMechanism("files", process.env["PATH"])).ok;

const PLAN = tinyPlan([{ task_id: "write", shell: "echo hello > out.txt" }]);

/** The embedded crew, whose worker is kept to a sandbox. */
function crew(here: Rig, sandbox: string): string[] {
  const roles = { roles: [{ role_id: "shell", type: "worker", sandbox }] };
  return ["--crew", "embedded", "--roles", here.write("roles.json", JSON.stringify(roles))];
}

/** A `PATH` without a sandbox program. */
async function barePath(here: Rig): Promise<Record<string, string>> {
  return { PATH: await pathOf(dirname(here.home), ["sh", "cat", "sleep", "touch"]) };
}

const run = (here: Rig, ...more: string[]) => ["run", "--plan", here.write("plan.json", PLAN), ...more];

function opened(here: Rig, session_id: string): Record<string, string | undefined> {
  const file = join(here.home, "logs", session_id, "000001-session_opened.json");
  const { payload } = JSON.parse(readFileSync(file, "utf8")) as {
    payload: { roles: { role_id: string; sandbox?: string }[] };
  };
  return Object.fromEntries(payload.roles.map(({ role_id, sandbox }) => [role_id, sandbox]));
}

function reported(here: Rig, session_id: string): unknown {
  const file = join(here.home, "sessions", session_id, "final_report.json");
  return (JSON.parse(readFileSync(file, "utf8")) as FinalReport).sandboxes;
}

describe("a session's sandboxes", () => {
  it.runIf(HAS_PROCESSES)(
    "are processes for the envelope dialect by default, on record and in the report",
    async () => {
      const here = rig();
      expect(await typed(here, run(here, "--reporter", "silent"))).toMatchObject({ code: 0, stderr: "" });
      const session_id = await onlySession(here);
      const both = { playbook: "processes", shell: "processes" };
      expect(opened(here, session_id)).toEqual(both);
      expect(reported(here, session_id)).toEqual(both);
      const verdict = await typedJson(here, ["replay", session_id, "--verify", "--json"]);
      expect(verdict).toMatchObject({ ok: true, decisions: "ok" });
      expect((await typedJson<{ roles: object[] }>(here, ["roles", "--json"])).roles).toMatchObject([
        { role_id: "playbook", sandbox: "processes" },
        { role_id: "shell", sandbox: "processes" },
      ]);
    },
  );

  it.runIf(HAS_PROCESSES)("end every process that a worker or a check starts, with its turn", async () => {
    const here = rig();
    const word = `${200_000 + process.pid}.5`;
    const daemon = `setsid env -i PATH=/usr/bin:/bin sleep ${word} </dev/null >/dev/null 2>&1 &`;
    const check = { text: "it is there", command: ["sh", "-c", `${daemon} test -s out.txt`] };
    const more = { acceptance_criteria: [check] };
    const plan = tinyPlan([{ task_id: "write", shell: `${daemon} echo hello > out.txt`, more }]);
    const args = ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"];
    expect(await typed(here, args)).toMatchObject({ code: 0, stderr: "" });
    expect(livingWith(word)).toEqual([]);
  });

  it.runIf(HAS_FILES)("can be files: the worker sees and changes only its workspace", async () => {
    const here = rig();
    const secret = join(here.home, "bosun.db");
    const shell = `echo hello > out.txt; touch ${here.home}/owned ${dirname(here.home)}/owned; cat ${secret} >seen`;
    const plan = tinyPlan([
      { task_id: "write", shell: `${shell}; cat "$BOSUN_ARTIFACTS_DIR/../../plan.json" >/dev/null; true` },
    ]);
    const args = ["run", "--plan", here.write("plan.json", plan), ...crew(here, "files"), "--reporter", "silent"];
    expect(await typed(here, args)).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("hello\n");
    expect(readFileSync(join(here.workspace, "seen"), "utf8")).toBe("");
    expect(() => readFileSync(join(here.home, "owned"))).toThrow("ENOENT");
    expect(() => readFileSync(join(dirname(here.home), "owned"))).toThrow("ENOENT");
    expect(reported(here, await onlySession(here))).toMatchObject({ shell: "files" });
  });

  it("are none by default where the machine has none, which doctor says", async () => {
    const here = rig();
    const env = await barePath(here);
    const ran = await typed(here, run(here, "--reporter", "silent"), env);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const session_id = await onlySession(here);
    expect(opened(here, session_id)).toEqual({ playbook: undefined, shell: undefined });
    expect(reported(here, session_id)).toBeUndefined();
    const doctor = await typed(here, ["doctor"], env);
    expect(doctor.code).toBe(0);
    expect(doctor.stdout).toMatch(/-- {2}sandbox processes +.*unshare/);
    expect((await typed(here, ["roles"], env)).stdout).toMatch(/shell +worker +envelope +none/);
  });

  it("that a role asks for and the machine lacks are refused at once, with what is missing", async () => {
    const here = rig();
    const env = await barePath(here);
    const refused = await typed(here, run(here, ...crew(here, "offline")), env);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/The role shell .*"offline"/);
    expect(refused.stderr).toContain("bubblewrap (bwrap) is not on the PATH");
    expect(refused.stderr).toMatch(/Install bubblewrap|Only Linux/);
    expect(here.sessions()).toEqual([]);
    const doctor = await typed(here, ["doctor", ...crew(here, "offline")], env);
    expect(doctor.code).toBe(3);
    expect(doctor.stdout).toMatch(/!! +role shell .*"offline"/);
    const wrong = await typed(here, run(here, ...crew(here, "prison")), env);
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toContain("sandbox");
  });

  it.runIf(HAS_PROCESSES)("are required to resume, and a session refused without them can resume later", async () => {
    const here = rig();
    expect((await typed(here, run(here, "--budget-turns", "1", "--reporter", "silent"))).code).toBe(5);
    const session_id = await onlySession(here);
    const refused = await typed(here, ["resume", session_id, "--budget-turns", "90"], await barePath(here));
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/The role playbook .*"processes"/);
    writeFileSync(join(here.workspace, "out.txt"), "");
    expect((await typed(here, ["resume", session_id, "--budget-turns", "90", "--reporter", "silent"])).code).toBe(0);
  });
});
