import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { ASKING, type Rig, rig, tinyPlan } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { ASK, DOUBTFUL, letGo, taskRuns, WAIT } from "./waiting-task.ts";

/** A manager that asks about each ticket and instructs a worker to write the answer down. */
const CURIOUS = `
const request = JSON.parse(require("node:fs").readFileSync(0, "utf8").split("\\n")[0]);
const { role_id, message, context } = request.payload;
const say = (payload_type, payload) => console.log(JSON.stringify({
  session_id: request.session_id, source: role_id, target: "scheduler", payload_type, version: "1.0", payload,
}));
const ticket = context.ticket?.ticket_id;
const told = context.clarifications ?? [];
if (message.payload_type === "requirement")
  say("plan", { tasks: ["a", "b"].map((task_id) => ({ task_id, description: "Do " + task_id })) });
else if (message.payload_type === "review_request") say("review", { decision: "approved" });
else if (message.payload.status === "complete" || told.length > 0)
  say("instruction", { summary: "Do it", steps: [{ text: "it", shell: "echo '" + (told.at(-1)?.answer ?? "") + "' > " + ticket + ".txt" }] });
else say("clarification", { status: "open", questions: [{ question_id: ticket, text: "Which for " + ticket + "?" }] });
`;

/** Puts a message into the inbox of the only session, past its checks. */
async function put(here: Rig, body: unknown): Promise<void> {
  const opened = openStore(here.home);
  if (!opened.ok) throw new Error(opened.error.message);
  const store = opened.value;
  const [row] = store.sessions();
  const there = await store.inbox.put(row?.session_id ?? "", body as JsonObject, {
    user: "bea",
    host: "here",
    via: "cli",
  });
  expect(there.ok).toBe(true);
  store.close();
}

type Pending = Record<"pending_decisions" | "pending_questions", { about?: string; question_id?: string }[]>;

const statusOf = (here: Rig, session_id: string) => typedJson<Pending>(here, ["status", session_id, "--json"]);

describe("resume", () => {
  it("asks about an in-doubt turn of a killed scheduler, and continues with the answer", async () => {
    const here = endAfterwards(rig());
    const roles = here.write("roles.json", DOUBTFUL);
    const killed = here.start(["run", "--plan", here.write("plan.json", WAIT), "--roles", roles]);
    const { session_id } = await taskRuns(here);
    killed.child.kill("SIGKILL");
    await killed.done;
    const asked = await typed(here, ["resume"]);
    expect([asked.code, asked.stderr]).toEqual([4, ""]);
    expect(asked.stdout).toContain("Shall the turn be run again?");
    const [question] = (await statusOf(here, session_id)).pending_questions;
    expect((await typed(here, ["answer", question?.question_id ?? "", "repeat"])).code).toBe(0);
    letGo(here);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("stays within the budget after schedulers died on the same turn", async () => {
    const here = endAfterwards(rig());
    const config = here.write("c.json", JSON.stringify({ max_recoveries: 0, budget: { tokens: 1000, usd: 1 } }));
    const killed = here.start(["run", "--plan", here.write("plan.json", WAIT), "--config", config]);
    const { session_id } = await taskRuns(here);
    killed.child.kill("SIGKILL");
    await killed.done;
    letGo(here);
    const resumed = await typed(here, ["resume"]);
    expect([resumed.code, resumed.stderr]).toEqual([0, ""]);
    const failed = await typed(here, ["replay", session_id, "--type", "turn_failed", "--json"]);
    expect(JSON.parse(failed.stdout)).toMatchObject({ payload: { code: "agent_failed", details: { recoveries: 0 } } });
  });

  it("takes no default for a question that was answered before", async () => {
    const here = rig();
    const two = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
      questions: [...ASKING.questions, { question_id: "age", text: "How old?", default: "7" }],
    });
    expect((await typed(here, ["run", "--plan", here.write("plan.json", two)])).code).toBe(4);
    expect((await typed(here, ["answer", "name", "Eve"])).code).toBe(0);
    expect((await typed(here, ["resume", "--unanswered", "default"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 7\n");
  });

  it("asks for the result although plans are approved without asking", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "write", shell: "true", more: { review: "user" } }]);
    expect((await typed(here, ["run", "--plan", here.write("plan.json", plan), "--confirm"])).code).toBe(4);
    const session_id = await onlySession(here);
    expect((await typed(here, ["review", "write", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume", "--yes"])).code).toBe(4);
    expect((await statusOf(here, session_id)).pending_decisions).toMatchObject([{ about: "result" }]);
  });

  it("ignores an earlier pause, which a stopped session refuses", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
    const session_id = await onlySession(here);
    const refused = await typed(here, ["pause"]);
    expect([refused.code, refused.stdout]).toEqual([2, ""]);
    expect(refused.stderr).toContain(`bosun resume ${session_id}`);
    // The owner may end between the check and the message.
    await put(here, { payload_type: "user_command", payload: { command: "pause" } });
    expect((await typed(here, ["answer", "Eve"])).code).toBe(0);
    expect((await typed(here, ["resume", "--no-input"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve\n");
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("survives malformed inbox rows, which other commands can show", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
    for (const body of [null, [], "x", { payload_type: "clarification_response", payload: { answers: [null] } }])
      await put(here, body);
    const session_id = await onlySession(here);
    for (const look of [["status", session_id], ["inbox"], ["answer", "--no-input"]])
      expect((await typed(here, look)).stdout).toContain("c1.name");
    expect((await typed(here, ["answer", "Eve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
  });

  it("needs no secrets of the roles to cancel the session", async () => {
    const here = rig();
    const roles = here.write(
      "roles.json",
      DOUBTFUL.replace('"recovery":"ask"', '"env":{"API_TOKEN":"${env.API_TOKEN}"}'),
    );
    const begun = await here.run(["run", "--plan", here.write("plan.json", ASK), "--roles", roles], {
      env: { API_TOKEN: "abc" },
    });
    expect([begun.code, begun.stderr]).toEqual([4, ""]);
    const session_id = await onlySession(here);
    expect((await typed(here, ["resume"])).stderr).toContain("API_TOKEN");
    const cancelled = await typed(here, ["cancel"]);
    expect([cancelled.code, cancelled.stderr]).toEqual([1, ""]);
    expect(await typedJson(here, ["status", session_id, "--json"])).toMatchObject({ outcome: "cancelled" });
  });

  it("lets the manager decide only what no given answer covers", async () => {
    const here = rig();
    const manager = `${process.execPath} ${here.write("manager.cjs", CURIOUS)}`;
    const stopped = await typed(here, ["run", "Two files, please.", "--manager", manager]);
    expect([stopped.code, stopped.stderr]).toEqual([4, ""]);
    const session_id = await onlySession(here);
    expect((await statusOf(here, session_id)).pending_questions).toHaveLength(2);
    const resumed = await typed(here, ["resume", "--answer", "c2.b=said", "--unanswered", "manager"]);
    expect(resumed.code).toBe(0);
    expect(existsSync(join(here.workspace, "a.txt"))).toBe(true);
    expect(readFileSync(join(here.workspace, "b.txt"), "utf8")).toBe("said\n");
  });
});
