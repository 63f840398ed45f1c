import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";
import { letGo, taskRuns, WAITING_TASK } from "./waiting-task.ts";

/** Plans one task, approves its work if there is a file `good`, and asks about stopped tickets. */
function manager(here: Rig, task: object): string {
  const script = `
const { existsSync, readFileSync } = require("node:fs");
const request = JSON.parse(readFileSync(0, "utf8").split("\\n")[0]);
const { role_id, message } = request.payload;
const say = (payload_type, payload) => console.log(JSON.stringify({
  session_id: request.session_id, source: role_id, target: "scheduler", payload_type, version: "1.0", payload,
}));
switch (message.payload_type) {
  case "requirement": say("plan", { tasks: [${JSON.stringify(task)}] }); break;
  case "review_request":
    say("review", existsSync("good") ? { decision: "approved" } : { decision: "changes_requested", requested_changes: ["Better."] });
    break;
  default: say("clarification", { status: "open", questions: [{ question_id: "now", text: "What now?" }] });
}
`;
  return `${process.execPath} ${here.write("manager.cjs", script)}`;
}

const WORK = { summary: "Do it", steps: [{ text: "it", shell: "test -e good" }] };
const ALWAYS = [{ text: "always", command: ["true"] }];

describe("retry of a blocked ticket", () => {
  it.each([
    [
      "budget_exhausted",
      {
        budget: { turns: 1 },
        review: "checks",
        acceptance_criteria: ALWAYS,
        instruction: WORK,
      },
    ],
    ["checks_failed", { review: "manager", instruction: { ...WORK, steps: [{ text: "it", shell: "true" }] } }],
  ])("with %s tries it again", async (reason, more) => {
    const here = rig();
    const crew = ["--manager", manager(here, { task_id: "one", description: "Do it", ...more })];
    const config = here.write("config.json", JSON.stringify({ max_review_rounds: 1, retry_backoff_ms: 1 }));
    const stopped = await typed(here, ["run", "One thing.", ...crew, "--config", config]);
    expect([stopped.code, stopped.stderr]).toEqual([4, ""]);
    const session_id = await onlySession(here);
    const blocked = await typedJson(here, ["status", session_id, "--json"]);
    expect(blocked).toMatchObject({ tickets: [{ ticket_id: "one", status: "blocked", reason }] });
    writeFileSync(join(here.workspace, "good"), "");
    for (const [flag = "", ...more] of [["--detach"], ["--yes", "--foreground"], ["--answer", "now=As you like."]]) {
      const refused = await typed(here, ["retry", "one", flag, ...more]);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(flag)]);
    }
    expect(await typed(here, ["retry", "one", "--no-input"])).toMatchObject({ code: 0, stderr: "" });
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("is refused with options that a running session cannot apply", async () => {
    const here = rig();
    const more = { metadata: { playbook: { on_error: "give_up" } } };
    const plan = tinyPlan([WAITING_TASK, { task_id: "bad", shell: "exit 1", more }]);
    const config = here.write("config.json", '{"max_retries":0,"max_workers":2}');
    const running = here.start(["run", "--plan", here.write("plan.json", plan), "--config", config, "--session", "s"]);
    await taskRuns(here);
    const bad = { ticket_id: "bad", status: "error" };
    await until("the end of the other", async () => {
      const { tickets } = await typedJson<{ tickets: (typeof bad)[] }>(here, ["status", "s", "--json"]);
      return tickets.some(({ ticket_id, status }) => ticket_id === bad.ticket_id && status === bad.status);
    });
    const refused = await typed(here, ["retry", "bad", "--yes"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/--yes[^]*bosun stop s\b/)]);
    letGo(here);
    expect((await running.done).code).toBe(1);
  });

  it("is refused where it waits for an answer", async () => {
    const here = rig();
    const crew = ["--manager", manager(here, { task_id: "one", description: "Do it" })];
    expect((await typed(here, ["run", "One thing.", ...crew])).code).toBe(4);
    const refused = await typed(here, ["retry", "one"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/\bone of /);
  });
});

it("retry shows no report of a reopened session that is stopped again", async () => {
  const here = rig();
  const shell = `test -e again || { touch again; exit 1; }; ${WAITING_TASK.shell}`;
  const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell }]));
  const config = here.write("config.json", JSON.stringify({ max_retries: 0, max_escalations: 0 }));
  const failed = await typed(here, ["run", "--plan", plan, "--config", config]);
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringMatching(/^report {2}/m)]);
  const running = here.start(["retry", "one"]);
  await taskRuns(here);
  running.child.kill("SIGINT");
  const stopped = await running.done;
  expect([stopped.code, stopped.stdout]).toEqual([130, expect.not.stringMatching(/^report {2}/m)]);
});

describe("retry of a ticket that depends on one in error", () => {
  it("is refused and names that one", async () => {
    const here = rig();
    const plan = tinyPlan([
      { task_id: "bad", shell: "exit 1", more: { metadata: { playbook: { on_error: "give_up" } } } },
      { task_id: "behind", shell: "true", dependencies: ["bad"] },
      { task_id: "cancelled", shell: "true", dependencies: ["behind"] },
    ]);
    const config = here.write("config.json", '{"max_retries":0}');
    const begun = ["run", "--plan", here.write("plan.json", plan), "--config", config, "--session", "s"];
    expect((await typed(here, [...begun, "--budget-turns", "1"])).code).toBe(5);
    expect((await typed(here, ["cancel", "s", "cancelled"])).code).toBe(0);
    expect((await typed(here, ["resume", "--budget-turns", "20"])).code).toBe(1);
    const closed = await typedJson<{ tickets: object[]; updated_at: string }>(here, ["status", "s", "--json"]);
    expect(closed.tickets).toMatchObject([{ status: "error" }, { status: "pending" }, { status: "error" }]);
    for (const ticket_id of ["behind", "cancelled"]) {
      const refused = await typed(here, ["retry", ticket_id]);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toMatch(new RegExp(`${ticket_id} [^]*bosun retry s bad`));
    }
    expect(await typedJson(here, ["status", "s", "--json"])).toEqual(closed);
  });
});
