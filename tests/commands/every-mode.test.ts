import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { listOf, objectOf } from "../../src/lib/json.ts";
import { rolesAt, type Speaker, Stage } from "../debate/stage.ts";
import { jsonLines, rig, until, withoutRetries } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { typed } from "./in-process.ts";
import { statusOf } from "./waiting-task.ts";

/** How a mode is begun, and what is done to a session of it while its agents wait for the test. */
interface Case {
  /** The words of its command, without roles and session. */
  readonly words: readonly string[];
  /** The file that stands behind the command's name, if it has one. */
  readonly input?: object;
  /** What runs it in this process, if it begins apart by itself. */
  readonly here?: string;
  /** Number of agents that are asked first, at once. */
  readonly first: number;
  /** Whether the subjects are there only when the first has answered. */
  readonly planned?: boolean;
  /** A subject that hears a note, and the role that reads it. */
  readonly told: { readonly subject: string; readonly role_id: string };
  /** The words that begin a session which this one reads, with one turn. */
  readonly before?: readonly string[];
  /** A subject that is cancelled, if the session can go on without one. */
  readonly cancelled?: string;
  /** What an agent answers, so that the session goes on. */
  readonly answer: (agent: Speaker) => void;
  /** What it answers so that it is asked again, in a mode that asks only once. */
  readonly again?: (agent: Speaker) => void;
  /** How `retry` of the told subject ends after its only turn failed, and what it says. */
  readonly retried: { readonly code: number; readonly said: RegExp };
}

/** Reports with what its role did. */
const report: Case["answer"] = (agent) =>
  agent.say("report", { status: "completed", summary: `${agent.role_id} did it.` });

const CASES: readonly Case[] = [
  {
    before: ["pipeline", "--steps", "python", "Python or Go?"],
    words: ["analyze", "before", "--by", "go", "--prompt", "Who won?"],
    first: 1,
    told: { subject: "go", role_id: "go" },
    answer: report,
    again: (agent) => agent.say("report", { status: "proposal", summary: "Nobody?" }),
    retried: { code: 2, said: /is an analysis, which retries by itself/ },
  },
  {
    words: ["converse", "--participants", "python,go,architect", "--start", "Python or Go?"],
    first: 1,
    told: { subject: "go", role_id: "go" },
    cancelled: "python",
    answer: report,
    retried: { code: 2, said: /is a conversation, which retries by itself/ },
  },
  {
    words: ["debate", "Python or Go?", "--agents", "python,go,architect", "--judge", "judge", "--rounds", "2"],
    first: 3,
    told: { subject: "go", role_id: "go" },
    cancelled: "python",
    answer: (agent) =>
      agent.role_id === "judge" ? agent.say("verdict", { conclusion: "Go.", winner: "architect" }) : agent.hold(),
    retried: { code: 2, said: /is a debate, which retries by itself/ },
  },
  {
    words: ["panel", "--members", "python,go,architect", "Is it done?"],
    first: 3,
    told: { subject: "go", role_id: "go" },
    cancelled: "python",
    answer: (agent) =>
      agent.say("review", { decision: agent.role_id === "go" ? "approved" : "changes_requested", notes: "So." }),
    retried: { code: 2, said: /is a panel, which retries by itself/ },
  },
  {
    words: ["meeting", "create", "--topic", "Python or Go?", "--participants", "python,go,architect"],
    here: "--foreground",
    first: 3,
    told: { subject: "go", role_id: "go" },
    cancelled: "python",
    answer: (agent) => agent.say("comment", { text: "So I think." }),
    retried: { code: 2, said: /is a council, which retries by itself/ },
  },
  {
    words: ["planning", "--planners", "python,go,architect", "Move the store."],
    first: 3,
    told: { subject: "go", role_id: "go" },
    cancelled: "python",
    answer: (agent) => agent.say("plan", { tasks: [{ task_id: "a", description: `As ${agent.role_id} does it.` }] }),
    again: (agent) => agent.say("plan", { tasks: [{ task_id: "a", description: "Do it.", dependencies: ["none"] }] }),
    retried: { code: 2, said: /is a planning, which retries by itself/ },
  },
  {
    words: ["meeting", "run", "--topic", "Python or Go?", "--agents", "python,go,architect", "--pm", "judge"],
    first: 1,
    told: { subject: "go", role_id: "go" },
    cancelled: "python",
    answer(agent) {
      if (agent.role_id !== "judge") return agent.say("report", { status: "completed", summary: "Go." });
      const isHeard = agent.request.message.payload["current_round"] !== 0;
      const call = { next_action: "CALL_AGENT", target_agent: "go", prompt_for_agent: "Why?" };
      const finish = { next_action: "FINISH", final_report: "# Go" };
      agent.say("pm_decision", { analysis: "So far.", ...(isHeard ? finish : call) });
    },
    retried: { code: 2, said: /is a meeting, which retries by itself/ },
  },
  {
    words: ["orchestrate", "Python or Go?", "--agents", "python,go,architect", "--planner", "judge"],
    first: 1,
    planned: true,
    told: { subject: "step-2", role_id: "architect" },
    cancelled: "step-3",
    answer(agent) {
      if (agent.role_id !== "judge") return report(agent);
      const { status, steps = [] } = agent.request.message.payload;
      const plan = ["go", "architect", "python"].map((name) => ({ agent: name, task: `What does ${name} say?` }));
      const isOpen = listOf(steps).some((step) => objectOf(step)["status"] === "pending");
      const next = isOpen ? { next_action: "GO_ON" } : { next_action: "FINISH", final_report: "# Go" };
      agent.say("plan_decision", {
        analysis: "So far.",
        ...(status === "planning" ? { next_action: "PLAN", steps: plan } : next),
      });
    },
    retried: { code: 2, said: /is an orchestration, which retries by itself/ },
  },
  {
    words: ["pipeline", "Python or Go?"],
    input: { steps: ["python", "go", "architect"].map((role) => ({ role, on_error: "abort" })) },
    first: 1,
    told: { subject: "2-go", role_id: "go" },
    cancelled: "3-architect",
    answer: report,
    retried: { code: 0, said: /3 of 3 steps done/ },
  },
];

const HOOKS = ["on_agent_start", "on_agent_finish", "on_step_complete", "on_error"];

const NOTE = "Mind the budget.";

async function staged({ before, words: [name = "", ...words], input }: Case) {
  const here = endAfterwards(rig());
  const file = input === undefined ? [] : [here.write("input.json", JSON.stringify(input))];
  const stage = await Stage.open(here.workspace);
  const roles = here.write("roles.json", JSON.stringify({ roles: rolesAt(stage.address) }));
  if (before) {
    const ended = here.run([...before, "--roles", roles, "--session", "before"]);
    for (const agent of await stage.gathered(1)) report(agent);
    await ended;
  }
  return { here, stage, begin: [name, ...file, ...words, "--roles", roles, "--session", "it"] };
}

/** Answers agents as they come, until the test ends. */
async function answering(stage: Stage, answer: Case["answer"]): Promise<never> {
  for (;;) for (const agent of await stage.gathered(1)) answer(agent);
}

describe.each(CASES)("a session of `bosun $words.0`", (mode) => {
  it("begun apart and killed is resumed, watched, told and cancelled", async () => {
    const { here, stage, begin } = await staged(mode);
    const begun = await here.run([...begin, "--detach"]);
    expect(begun).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("it is running (pid") });
    await stage.gathered(mode.first);
    const { owner } = await statusOf(here, "it");
    process.kill(owner?.pid ?? 0, "SIGKILL");
    await until("its scheduler to be gone", async () => (await statusOf(here, "it")).owner === null);

    expect(await here.run(["resume", "it", "--detach"])).toMatchObject({ code: 0, stderr: "" });
    let asked = await stage.gathered(mode.first);
    if (mode.planned) {
      for (const agent of asked) mode.answer(agent);
      asked = await stage.gathered(1);
    }
    const watching = here.start(["attach", "it"]);
    await until("the watcher to show it", () => watching.stdout().includes("RESUMED"));
    const { subject, role_id } = mode.told;
    const told = await here.run(["tell", "it", subject, NOTE]);
    expect(told).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("Note sent.") });
    let agents = asked;
    const hears = ({ request }: Speaker) =>
      request.role_id === role_id && JSON.stringify(request.context).includes(NOTE);
    for (; !agents.some(hears); agents = await stage.gathered(1))
      for (const agent of agents) (mode.again ?? mode.answer)(agent);
    for (const what of [mode.cancelled ?? [], "--yes"].flat())
      expect(await here.run(["cancel", "it", what])).toMatchObject({ code: 0, stderr: "" });

    const watched = await watching.done;
    expect(watched).toMatchObject({ code: 1, stderr: "" });
    expect(watched.stdout).toContain(`TELL by`);
    expect(watched.stdout).toContain(NOTE);
    expect(watched.stdout).toContain("CLOSED cancelled");
    expect(await statusOf(here, "it")).toMatchObject({ state: "closed", outcome: "cancelled", owner: null });
    expect((await typed(here, ["replay", "it", "--verify"])).code).toBe(0);
  });

  it("with a turn that failed for good calls the hooks, and is retried if the mode lets a person retry", async () => {
    const { here, stage, begin } = await staged(mode);
    let isFailed = false;
    void answering(stage, (agent) => {
      if (isFailed || agent.role_id !== mode.told.role_id) return mode.answer(agent);
      isFailed = true;
      agent.say("error", { code: "agent_failed", message: "I cannot." });
    });
    const keep = ["sh", "-c", 'cat >>"$0"', here.write("hooked", "")];
    const hooks = Object.fromEntries(HOOKS.map((name) => [name, keep]));
    const begun = await here.run([...begin, ...(mode.here ? [mode.here] : []), ...withoutRetries(here, { hooks })]);
    expect(begun).toMatchObject({ stderr: "", stdout: expect.stringContaining("I cannot.") });
    expect(await statusOf(here, "it")).toMatchObject({ state: "closed" });
    const called = jsonLines<{ event: string; agent?: string }>(readFileSync(keep.at(-1) ?? "", "utf8"));
    // The only turn of an analysis fails.
    const expected = HOOKS.filter((name) => mode.before === undefined || name !== "on_agent_finish");
    expect(new Set(called.map(({ event }) => event))).toEqual(new Set(expected));
    expect(called).toContainEqual(expect.objectContaining({ event: "on_error", agent: mode.told.role_id }));
    const { code, stdout, stderr } = await here.run(["retry", "it", mode.told.subject]);
    expect(stdout + stderr).toMatch(mode.retried.said);
    expect(code).toBe(mode.retried.code);
    expect((await typed(here, ["replay", "it", "--verify"])).code).toBe(0);
  });
});
