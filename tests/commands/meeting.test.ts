import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { type Speaker, Stage } from "../debate/stage.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig, withoutRetries } from "./rig.ts";
import { endAfterwards } from "./strays.ts";

const PROGRAM = join(import.meta.dirname, "../fixtures/debaters/debater.mjs");
const TOPIC = "评估从 PostgreSQL 迁移到 MongoDB 的方案";
const REPORT = "# 结论\n\n- 不迁移。";

interface Staged {
  readonly here: Rig;
  readonly stage: Stage;
  /** The words that begin a meeting with this id. */
  readonly begin: (session_id: string, ...more: readonly string[]) => string[];
}

/** Three agents and a manager, whose programs wait for the test. */
async function staged(): Promise<Staged> {
  const here = endAfterwards(rig());
  const stage = await Stage.open(here.workspace);
  const cli_command = [process.execPath, PROGRAM, stage.address];
  const titles = { architect: "资深软件架构师", business_analyst: "商业分析师", devops: "DevOps 工程师" };
  const agents = Object.entries(titles).map(([role_id, display_name]) => ({
    role_id,
    display_name,
    type: "participant",
    system_prompt: `You are ${role_id}.`,
    cli_command,
  }));
  // The PM's program fails while there is a file of this name.
  const chair = ["sh", "-c", 'test -e broken && exit 3; exec "$@"', "sh", ...cli_command];
  const roles = [...agents, { role_id: "chair", type: "manager", cli_command: chair }];
  const file = here.write("roles.json", JSON.stringify({ roles }));
  const seats = ["--topic", TOPIC, "--agents", "architect,business_analyst,devops", "--roles", file];
  return { here, stage, begin: (id, ...more) => ["meeting", "run", ...seats, "--session", id, ...more] };
}

/** Answers as the PM does, with these decisions in turn; agents answer with their name. Gives what everybody was asked. */
function answering(stage: Stage, decisions: readonly JsonObject[]): Speaker[] {
  const asked: Speaker[] = [];
  const left = [...decisions];
  const answer = async () => {
    for (;;) {
      const [agent] = await stage.gathered(1);
      if (!agent) continue;
      asked.push(agent);
      if (agent.role_id === "chair") agent.say("pm_decision", { analysis: "So far.", ...(left.shift() ?? {}) });
      else agent.say("report", { status: "completed", summary: `${agent.role_id} says so.` });
    }
  };
  void answer();
  return asked;
}

const call = (target_agent: string) => ({ next_action: "CALL_AGENT", target_agent, prompt_for_agent: "为什么？" });
const finish = (final_report: string) => ({ next_action: "FINISH", final_report });

describe("bosun meeting run", () => {
  it("shows the meeting while it goes on, and writes the report into reports/ and the home", async () => {
    const { here, stage, begin } = await staged();
    answering(stage, [call("architect"), call("DevOps 工程师"), finish(REPORT)]);
    const ended = await typed(here, begin("m-1"));
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
    expect(ended.stdout).toMatch(/ - +PM DECISION from chair "为什么？"/);
    expect(ended.stdout).toMatch(/ architect +heard by architect: architect says so\./);
    expect(ended.stdout).toMatch(/ devops +heard/);
    const file = join(here.workspace, "reports", "meeting-m-1.md");
    expect(ended.stdout).toContain(`kept    ${file}`);
    expect(readFileSync(file, "utf8")).toBe(`${REPORT}\n`);
    const kept = readFileSync(join(here.home, "sessions", "m-1", "final_report.md"), "utf8");
    expect(kept).toContain(`# ${TOPIC}`);
    expect(kept).toMatch(/## Report of chair\n\n> .*结论/);
    expect(kept).toContain("## devops\n\n> devops says so.");
    expect((await typed(here, ["replay", "m-1", "--verify"])).code).toBe(0);
  });

  it("has its state in `status --json` while it goes on", async () => {
    const { here, stage, begin } = await staged();
    expect((await here.run(begin("m-2", "--max-rounds", "7", "--detach"))).code).toBe(0);
    const [pm] = await stage.gathered(1);
    pm?.say("pm_decision", { analysis: "Nothing yet.", ...call("architect") });
    const [architect] = await stage.gathered(1);
    expect(architect?.request).toMatchObject({
      message: { payload_type: "requirement", payload: { text: "为什么？" } },
      context: { transcript: [{ source: "chair", payload: { text: "Nothing yet." } }] },
    });
    architect?.say("report", { status: "completed", summary: "Indexes." });
    await stage.gathered(1);
    const status = JSON.parse((await typed(here, ["status", "m-2", "--json"])).stdout) as JsonObject;
    expect(status["projection"]).toMatchObject({
      topic: TOPIC,
      scratchpad: [{ agent_name: "architect", content: "Indexes.", timestamp: expect.stringMatching(/Z$/) }],
      current_round: 1,
      max_rounds: 7,
      agents: [{ agent_name: "architect", role: "资深软件架构师", entries: 1 }, { entries: 0 }, { entries: 0 }],
    });
    expect(status["tickets"]).toMatchObject([{ status: "heard", description: "Indexes." }, {}, {}]);
    await here.run(["cancel", "m-2", "--yes"]);
  });

  it("ends with 1 and the whiteboard as its report if the PM never finishes", async () => {
    const { here, stage, begin } = await staged();
    const asked = answering(stage, [call("devops"), call("devops"), { next_action: "FINISH" }, finish(" ")]);
    const ended = await typed(here, begin("m-3", "--max-rounds", "1", "--output-dir", "minutes/2026", ...quick(here)));
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain("The PM wrote no report");
    const text = readFileSync(join(here.workspace, "minutes", "2026", "meeting-m-3.md"), "utf8");
    expect(text).toBe(
      `# ${TOPIC}\n\nThe meeting ended without a report. This is its whiteboard.\n\n## devops\n\ndevops says so.\n`,
    );
    const last = asked.filter(({ role_id }) => role_id === "chair").slice(-3);
    expect(last.map(({ request }) => request.message.payload["must_finish"])).toEqual([true, true, true]);
    expect(last.map(({ request }) => request.context.refused?.at(-1)?.pointer)).toEqual([
      undefined,
      "/next_action",
      "/payload/final_report",
    ]);
  });

  it("feeds what is wrong with an answer back to the PM", async () => {
    const { here, stage, begin } = await staged();
    const asked = answering(stage, [{ next_action: "TALK" }, call("ghost"), finish(REPORT)]);
    expect((await typed(here, begin("m-4", ...quick(here)))).code).toBe(0);
    expect(asked.map(({ request }) => request.context.refused?.at(-1)?.message ?? "")).toEqual([
      "",
      expect.stringContaining("CALL_AGENT"),
      expect.stringContaining("the agents are architect (资深软件架构师)"),
    ]);
  });

  it("ends with 1 if the PM gives up, and stops, to be resumed, if its program fails", async () => {
    const { here, stage, begin } = await staged();
    const ended = here.start(begin("m-5"));
    (await stage.gathered(1))[0]?.say("error", { code: "agent_failed", message: "I cannot." });
    expect(await ended.done).toMatchObject({ code: 1, stdout: expect.stringContaining("I cannot.") });

    const broken = join(here.workspace, "broken");
    writeFileSync(broken, "");
    const failed = await typed(here, begin("m-6", ...withoutRetries(here)));
    expect(failed).toMatchObject({ code: 4, stdout: expect.stringContaining("bosun resume m-6") });
    rmSync(broken);
    answering(stage, [finish(REPORT)]);
    expect((await typed(here, ["resume", "m-6"])).code).toBe(0);
  });

  it("writes a report that is missing when it is resumed, and leaves one that a person changed", async () => {
    const { here, stage, begin } = await staged();
    answering(stage, [finish(REPORT)]);
    await typed(here, begin("m-7"));
    const file = join(here.workspace, "reports", "meeting-m-7.md");
    rmSync(file);
    await typed(here, ["resume", "m-7"]);
    expect(readFileSync(file, "utf8")).toBe(`${REPORT}\n`);
    writeFileSync(file, "Mine.");
    await typed(here, ["resume", "m-7"]);
    expect(readFileSync(file, "utf8")).toBe("Mine.");
  });

  it("writes nothing through a link that leads out of the workspace", async () => {
    const { here, stage, begin } = await staged();
    const outside = join(here.workspace, "..", "outside");
    mkdirSync(outside);
    symlinkSync(outside, join(here.workspace, "reports"));
    answering(stage, [finish(REPORT)]);
    const ended = await typed(here, begin("m-8"));
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining("A link leads out of the workspace") });
    expect(existsSync(join(outside, "meeting-m-8.md"))).toBe(false);
  });

  it.each([
    ["without a topic", ["--topic", " "], "The topic is empty"],
    ["without rounds", ["--max-rounds", "0"], "--max-rounds: must be at least 1"],
    [
      "with an agent that is not there",
      ["--agents", "architect,devop"],
      "one of architect, chair, business_analyst, devops",
    ],
    ["with a PM that is an agent", ["--pm", "devops"], "has a seat already"],
    ["with a word too many", ["more"], "too many arguments"],
  ])("is refused %s, and creates nothing", async (_what, words, said) => {
    const { here, begin } = await staged();
    const refused = await typed(here, begin("m-9", ...words));
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(said) });
    expect(existsSync(here.home)).toBe(false);
  });

  it("takes a role of the registry before an agent file of its name, and reads no other file", async () => {
    const { here, stage, begin } = await staged();
    const agents = join(here.workspace, "crew");
    mkdirSync(agents);
    for (const name of ["architect.json", "broken.json"]) writeFileSync(join(agents, name), "{");
    answering(stage, [call("architect"), finish(REPORT)]);
    const ended = await typed(here, begin("m-10", "--agents-dir", "crew"));
    expect([ended.code, ended.stderr]).toEqual([
      0,
      `The role "architect" of your registry counts, not ${join(agents, "architect.json")}.\n`,
    ]);
  });

  it("says which agents there are if one is missing, and what is wrong with the file of one", async () => {
    const { here, begin } = await staged();
    mkdirSync(join(here.workspace, "agents"));
    writeFileSync(join(here.workspace, "agents", "critic.yaml"), "name: critic\nrole: Critic\n");
    const missing = await typed(here, begin("m-11", "--agents", "architect,critik"));
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "critic"?') });
    expect(missing.stderr).toMatch(/expected: one of .*chair.*critic/);
    expect(missing.stderr).toContain("bosun agents list");
    const broken = await typed(here, begin("m-12", "--agents", "architect,critic"));
    expect(broken).toMatchObject({ code: 3, stderr: expect.stringContaining('"system_prompt" is missing') });
    expect(existsSync(here.home)).toBe(false);
  });

  it("says what to do if nobody is left for the PM", async () => {
    const here = rig();
    const file = here.write(
      "two.json",
      JSON.stringify({ roles: [{ role_id: "a", type: "participant", cli_command: ["true"] }] }),
    );
    const words = ["meeting", "run", "--topic", TOPIC, "--agents", "a", "--roles", file];
    const { code, stderr } = await typed(here, words);
    expect(code).toBe(2);
    expect(stderr).toContain("Nobody is left for the PM of this meeting");
    expect(stderr).toMatch(/--pm <id>.*\s.*--crew NAME/);
  });

  it("stands beside other commands of `bosun meeting`, with help and completion", async () => {
    const here = rig();
    expect((await typed(here, ["help", "meeting"])).stdout).toMatch(/Commands:[^]*\n {2}run +a PM asks/);
    const help = await typed(here, ["help", "meeting", "run"]);
    expect(help.stdout).toContain("Usage: bosun meeting run [options]\n\nExample:\n  bosun meeting run --topic");
    expect(await typed(here, ["meeting", "run", "--help"])).toEqual(help);
    expect((await typed(here, ["meeting", "rnu"])).code).toBe(2);
    expect((await typed(here, ["complete", "--", "meeting", ""])).stdout).toContain("run\t");
    expect((await typed(here, ["complete", "--", "meeting", "run", "--max-r"])).stdout).toContain("--max-rounds\t");
  });
});

/** Retries follow at once. */
function quick(here: Rig): string[] {
  return ["--config", here.write("quick.json", JSON.stringify({ retry_backoff_ms: 0 }))];
}
