import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type JsonObject, listOf, objectOf, textOf } from "../../src/lib/json.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

/** Plans as its role; as the manager it has no questions, takes the first of the plans that it is shown, and plans alone if there are none. */
const AGENT = `import { readFileSync } from "node:fs";
const { payload, session_id } = JSON.parse(readFileSync(0, "utf8"));
const { context: { transcript = [] }, expects, role_id } = payload;
const command = ["sh", "-c", "exit 0"];
const own = {
  summary: "By " + role_id,
  tasks: [{
    task_id: "by-" + role_id,
    description: "Do it",
    review: "checks",
    acceptance_criteria: [{ text: "it is done", command }],
    instruction: { summary: "Do it", steps: [{ text: "do", shell: "true" }] },
  }],
};
const said = expects.includes("plan")
  ? { payload_type: "plan", payload: transcript[0]?.payload ?? own }
  : { payload_type: "clarification", payload: { questions: [], status: "complete" } };
console.log(JSON.stringify({ session_id, source: role_id, target: "scheduler", version: "1.0", ...said }));
`;

/** The arguments of a session with these planners, each of which is started by a command. */
function planned(here: Rig, planners: Readonly<Record<string, readonly string[] | undefined>> = {}): string[] {
  const agent = [process.execPath, here.write("agent.mjs", AGENT)];
  const all = { ann: agent, ben: agent, ...planners };
  const roles = Object.entries(all).map(([role_id, cli_command]) => ({ role_id, type: "participant", cli_command }));
  const config = { planning: { planners: Object.keys(all) }, max_retries: 0, retry_backoff_ms: 1 };
  const files = {
    "--roles": here.write("roles.json", JSON.stringify({ roles: [...roles, boss(agent)] })),
    "--config": here.write("config.json", JSON.stringify(config)),
  };
  return ["run", "Mend it", ...Object.entries(files).flat(), ...NO_QUESTIONS, "--session", "s", "--yes"];
}

const NO_QUESTIONS = ["--no-input", "--reporter", "plain"];

const boss = (cli_command: readonly string[]) => ({ role_id: "boss", type: "manager", cli_command });

/** The payloads of the session's records of a type. */
function recorded(here: Rig, payload_type: string): JsonObject[] {
  const folder = join(here.home, "logs", "s");
  const names = readdirSync(folder).filter((name) => name.endsWith(`-${payload_type}.json`));
  return names.map((name) => objectOf(JSON.parse(readFileSync(join(folder, name), "utf8"))["payload"]));
}

function tasksDone(here: Rig): unknown[] {
  const [report] = recorded(here, "final_report");
  return listOf(report?.["tickets"]).map((one) => [objectOf(one)["task_id"], objectOf(one)["status"]]);
}

describe("a plan of planners", () => {
  it("is made by each alone in a session of its own, and judged by the manager without names", async () => {
    const here = endAfterwards(rig());
    const done = await typed(here, planned(here));
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toMatch(/STARTED planning s\.\d+[^]*s\.\d+ ENDED done/);
    const [first, judging] = recorded(here, "turn_request");
    expect(first?.["expects"]).toEqual(["clarification", "error"]);
    expect(JSON.stringify(judging)).not.toContain('role_id":"ann');
    expect(tasksDone(here)).toEqual([[expect.stringMatching(/^by-(?:ann|ben)$/), "done"]]);
    const [finished] = recorded(here, "session_finished");
    const child = textOf(finished?.["session_id"]);
    const opened = readFileSync(join(here.home, "logs", child, "000001-session_opened.json"), "utf8");
    expect(JSON.parse(opened)).toMatchObject({
      payload: { mode: "planning", input: { planners: ["ann", "ben"], topic: "Mend it" } },
    });
    for (const id of ["s", child]) expect((await typed(here, ["replay", id, "--verify"])).code).toBe(0);
    expect((await typed(here, ["report", child, "--json"])).stdout).toContain("2 seats, 1 vendor");
    expect(readFileSync(join(here.home, "sessions", child, "final_report.md"), "utf8")).toContain("2 seats, 1 vendor");
  });

  it.each([
    ["one planner fails", { ben: ["false"] }, "by-ann"],
    ["all fail, by the manager alone", { ann: ["false"], ben: ["false"] }, "by-boss"],
  ])("is made even if %s", async (_, planners, task_id) => {
    const here = endAfterwards(rig());
    expect((await typed(here, planned(here, planners))).code).toBe(0);
    expect(tasksDone(here)).toEqual([[task_id, "done"]]);
  });

  it("is the same after a kill at any record until it is made", async () => {
    const chosen = new Set<string>();
    for (let commit = 1; ; commit += 2) {
      const here = endAfterwards(rig());
      const died = await here.run(planned(here), { env: { BOSUN_CRASH_AT: `after_commit:${commit}` } });
      if (recorded(here, "ticket").length + recorded(here, "plan").length > 0) break;
      expect(died.signal).toBe("SIGKILL");
      expect((await typed(here, ["resume", "s", ...NO_QUESTIONS])).code).toBe(0);
      chosen.add(JSON.stringify(tasksDone(here)));
    }
    expect(chosen.size).toBe(1);
  });

  it.each([
    [["ann", "nobody"], /config\.json:1[^]*nobody/],
    [["ann"], /config\.json:1/],
    [["ann", "boss"], /config\.json:1[^]*manager/],
  ])("is refused before anything is created with the planners %j", async (planners, said) => {
    const here = rig();
    const args = planned(here);
    here.write("config.json", JSON.stringify({ planning: { planners } }));
    const refused = await typed(here, args);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(said)]);
    expect(here.sessions()).toEqual([]);
  });
});
