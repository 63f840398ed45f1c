import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { onlySession, typed, typedJson } from "../in-process.ts";
import { type Rig, rig } from "../rig.ts";
import { open } from "../terminal.ts";

/** A crew whose worker fails, and whose manager answers that with another plan, and cannot mend that: what it takes to run it. */
function revisingCrew(here: Rig, plan_approval = "ask"): string[] {
  const manager = here.write(
    "manager.mjs",
    `import { readFileSync } from "node:fs";
    const { session_id, payload } = JSON.parse(readFileSync(0, "utf8"));
    const task = (task_id, description, ...dependencies) => ({ task_id, description, dependencies, review: "checks",
      instruction: { summary: description + "." }, acceptance_criteria: [{ text: "always", command: ["true"] }] });
    const first = [task("bad", "One way"), task("other", "Nobody needs it", "bad"), task("kept", "It stays", "bad")];
    const better = [task("bad", "Another way"), task("kept", "It stays", "bad"), task("first", "What was missing")];
    if (payload.message.payload_type === "requirement" && payload.context.plan) process.exit(1);
    const tasks = payload.message.payload_type === "error" ? better : first;
    console.log(JSON.stringify({ session_id, source: payload.role_id, target: "scheduler", payload_type: "plan",
      version: "1.0", payload: { tasks } }));`,
  );
  const config = here.write("config.json", JSON.stringify({ plan_approval, max_retries: 0, max_workers: 1 }));
  return ["--manager", `${process.execPath} ${manager}`, "--worker", "false", "--config", config];
}

async function ticketsOf(here: Rig): Promise<unknown[]> {
  const asked = ["status", await onlySession(here), "--json"];
  const { tickets } = await typedJson<{ tickets: Record<string, string>[] }>(here, asked);
  return tickets.map(({ ticket_id, status, reason }) => [ticket_id, status, reason]);
}

it("shows what a revised plan would change, and rejecting it changes nothing", async () => {
  const here = rig();
  expect((await typed(here, ["run", "Do it.", ...revisingCrew(here)])).code).toBe(4);
  const first = (await typed(here, ["plan"])).stdout;
  expect(first).toMatch(/^A plan of 3 tasks\n\nbad\n/);
  expect((await typed(here, ["plan", "--approve"])).code).toBe(0);
  expect((await typed(here, ["resume"])).code).toBe(4);
  const retried = await typed(here, ["retry", "bad"]);
  expect([retried.code, retried.stderr]).toEqual([2, expect.stringContaining("bosun status")]);
  const head = "A revised plan of 3 tasks\n  new: first\n  changed: bad\n  removed: other\n  unchanged: kept\n\nbad\n";
  expect((await typed(here, ["plan"])).stdout.slice(0, head.length)).toBe(head);
  const shown = await typedJson(here, ["plan", "--json"]);
  expect(shown).toMatchObject({ waits_for_approval: true, added: ["first"], changed: ["bad"], left_out: ["other"] });
  const file = join(here.workspace, "plan.json");
  expect((await typed(here, ["plan", "--export", file])).code).toBe(0);
  const exported = JSON.parse(readFileSync(file, "utf8")) as unknown;
  expect(exported).toMatchObject({ tasks: [{ task_id: "bad", instruction: { summary: "Another way." } }, {}, {}] });

  expect((await typed(here, ["plan", "--reject", "--notes", "Try again"])).code).toBe(0);
  expect((await typed(here, ["resume"])).code).toBe(4);
  const told = (await typed(here, ["log"])).stdout;
  expect(told).toMatch(/REJECTED by .* "Try again"/);
  expect(told).not.toContain("withdrawn");
  // The manager has brought it once more, and is not asked a third time.
  expect((await typed(here, ["plan", "--reject"])).code).toBe(0);
  expect((await typed(here, ["resume"])).code).toBe(1);
  expect((await typed(here, ["plan"])).stdout.split("\n\nnext")[0]).toBe(first.split("\n\n  ?")[0]);
  expect(await ticketsOf(here)).toEqual([
    ["bad", "error", "agent_failed"],
    ["other", "pending", "waiting_for_dependency"],
    ["kept", "pending", "waiting_for_dependency"],
  ]);
  expect((await typed(here, ["replay", "--verify"])).code).toBe(0);
});

it("does not show a plan that was sent back", async () => {
  const here = rig();
  await typed(here, ["run", "Do it.", ...revisingCrew(here)]);
  await typed(here, ["plan", "--approve"]);
  expect((await typed(here, ["resume"])).code).toBe(4);
  expect((await typed(here, ["plan", "--revise", "Smaller."])).code).toBe(0);
  expect((await typed(here, ["plan"])).stdout).toMatch(/^A revised plan of 3 tasks\n/);
  const { code, stdout } = await typed(here, ["resume"]);
  expect([code, stdout]).toEqual([4, expect.stringContaining("stopped: the manager failed once\n")]);
  expect((await typed(here, ["plan"])).stdout).toMatch(/^A plan of 3 tasks\n\n/);
});

it("exports a plan file without the old instruction of a replaced task", async () => {
  const here = rig();
  const manager = here.write(
    "manager.mjs",
    `import { readFileSync } from "node:fs";
    const { session_id, payload } = JSON.parse(readFileSync(0, "utf8"));
    const { message, context: { ticket } } = payload;
    const gone = { task_id: "gone", description: "One way" };
    const next = { task_id: "next", description: "Instead" };
    const again = { task_id: "gone", description: "Another way" };
    const revised = ticket?.ticket_id === "gone" ? [next] : [next, again];
    const [payload_type, said] = message.payload_type === "requirement" ? ["plan", { tasks: [gone] }]
      : message.payload_type === "error" ? ["plan", { tasks: revised }]
      : ["instruction", { summary: "Told before." }];
    console.log(JSON.stringify({ session_id, source: payload.role_id, target: "scheduler", payload_type, version: "1.0",
      payload: said }));`,
  );
  const config = here.write("config.json", JSON.stringify({ plan_approval: "ask", max_retries: 0 }));
  const crew = ["--manager", `${process.execPath} ${manager}`, "--worker", "false", "--config", config];
  await typed(here, ["run", "Do it.", ...crew]);
  for (const _ of ["the first", "the second"]) {
    expect((await typed(here, ["plan", "--approve"])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(4);
  }
  const file = join(here.workspace, "plan.json");
  expect((await typed(here, ["plan", "--export", file])).code).toBe(0);
  const { tasks } = JSON.parse(readFileSync(file, "utf8")) as { tasks: object[] };
  expect(tasks).toEqual([
    expect.objectContaining({ task_id: "next", instruction: { summary: "Told before." } }),
    { task_id: "gone", description: "Another way" },
  ]);
});

it("tells what a revised plan changes when it needs no approval", async () => {
  const here = rig();
  const { stdout } = await typed(here, ["run", "Do it.", ...revisingCrew(here, "never")]);
  const revised = "PLAN 3 tasks by manager, new: first; restarted: bad; removed: other";
  expect(stdout).toContain(`${revised}\n`);
  expect(stdout).toMatch(/ bad +pending\n/);
  expect((await typed(here, ["log"])).stdout).toContain(`${revised}\n`);
});

it("asks at the terminal to approve a revised plan", async () => {
  const here = rig();
  const pane = open(here, ["run", "Do it.", "--no-confirm", ...revisingCrew(here)]);
  await pane.asks("4  Reject, and end the session");
  pane.type("1", "Enter");
  await pane.shows("A revised plan of 3 tasks");
  await pane.asks("4  Reject, and go on without it");
  pane.type("1", "Enter");
  expect(await pane.exit()).toBe(1);
  expect(await ticketsOf(here)).toEqual([
    ["bad", "error", "agent_failed"],
    ["kept", "pending", "waiting_for_dependency"],
    ["other", "error", "withdrawn"],
    ["first", "error", "agent_failed"],
  ]);
  expect((await typed(here, ["replay", "--verify"])).code).toBe(0);
});
