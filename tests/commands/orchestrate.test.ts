import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { type Speaker, Stage } from "../debate/stage.ts";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { statusOf } from "./waiting-task.ts";

const PROGRAM = join(import.meta.dirname, "../fixtures/debaters/debater.mjs");

/** Two agents and a manager, whose programs wait for the test. */
async function staged() {
  const here = endAfterwards(rig());
  const stage = await Stage.open(here.workspace);
  const cli_command = [process.execPath, PROGRAM, stage.address];
  const types = { ann: "participant", ben: "participant", boss: "manager" };
  const roles = Object.entries(types).map(([role_id, type]) => ({ role_id, type, cli_command }));
  const file = here.write("roles.json", JSON.stringify({ roles }));
  const begin = (...more: readonly string[]) => {
    return ["orchestrate", "Rank the cities.", "--agents", "ann,ben", "--roles", file, "--session", "o-1", ...more];
  };
  return { here, stage, begin };
}

/** Answers as the planner does, with these decisions in turn; agents answer with their name. Gives what everybody was asked. */
function answering(stage: Stage, decisions: readonly JsonObject[]): Speaker[] {
  const asked: Speaker[] = [];
  const left = [...decisions];
  const answer = async () => {
    for (;;) {
      const [agent] = await stage.gathered(1);
      if (!agent) continue;
      asked.push(agent);
      if (agent.role_id === "boss") agent.say("plan_decision", { analysis: "So far.", ...(left.shift() ?? {}) });
      else agent.say("report", { status: "completed", summary: `${agent.role_id} did it.` });
    }
  };
  void answer();
  return asked;
}

const plan = (...agents: string[]) => ({
  next_action: "PLAN",
  steps: agents.map((agent) => ({ agent, task: `A step of ${agent}.` })),
});
const GO_ON = { next_action: "GO_ON", satisfied: true };
const FINISH = { next_action: "FINISH", final_report: "# Shenzhen" };

describe("bosun orchestrate", () => {
  it("takes the first manager as the planner, carries out its plan, and ends with its report", async () => {
    const { here, stage, begin } = await staged();
    const asked = answering(stage, [plan("ann", "ben"), GO_ON, FINISH]);
    const { code, stdout, stderr } = await typed(here, begin());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(asked.map(({ role_id }) => role_id)).toEqual(["boss", "ann", "boss", "ben", "boss"]);
    expect(stdout).toMatch(/step-1 +done[^]*step-2 +done/);
    expect(stdout).toMatch(/Report of boss\n +# Shenzhen/);
    expect((await typed(here, ["replay", "o-1", "--verify"])).code).toBe(0);
  });

  it("gives the planner one last turn at the limit of its steps", async () => {
    const { here, stage, begin } = await staged();
    const asked = answering(stage, [plan("ann"), FINISH]);
    expect((await typed(here, begin("--max-steps", "1", "--max-replans", "0"))).code).toBe(0);
    expect(asked.at(-1)?.request.choices).toMatchObject({ "/next_action": ["FINISH"] });
    expect(asked.at(-1)?.request.message.payload).toMatchObject({ must_finish: true, max_steps: 1, replans_left: 0 });
  });

  it("asks a person about the plan with --review-plan, and has the planner write it anew", async () => {
    const { here, stage, begin } = await staged();
    const asked = answering(stage, [plan("ann", "ben"), plan("ben"), FINISH]);
    expect((await typed(here, begin("--review-plan", "--no-input"))).code).toBe(4);
    expect(asked).toHaveLength(1);
    expect((await typed(here, ["inbox"])).stdout).toContain("step-1 by ann: A step of ann.");
    expect((await typed(here, ["answer", "o-1", "Only ben.", "--resume", "--no-input"])).code).toBe(4);
    expect(asked[1]?.request.context.clarifications).toMatchObject([{ answer: "Only ben." }]);
    expect((await typed(here, ["answer", "o-1", "carry it out", "--resume", "--no-input"])).code).toBe(0);
    expect(asked.map(({ role_id }) => role_id)).toEqual(["boss", "boss", "ben", "boss"]);
    expect(await statusOf(here, "o-1")).toMatchObject({ projection: { status: "done", current_step: 1 } });
  });

  it.each([
    [["--planner", "ann"], "ann"],
    [["--max-steps", "0"], "--max-steps"],
    [["--planner", "ghost"], "ghost"],
  ])("refuses %j and begins nothing", async (more, named) => {
    const { here, begin } = await staged();
    const { code, stderr } = await typed(here, begin(...more));
    expect([code, here.sessions()]).toEqual([2, []]);
    expect(stderr).toContain(named);
  });
});
