import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "../in-process.ts";
import { type Rig, rig, tinyPlan } from "../rig.ts";
import { open } from "../terminal.ts";
import { ASK, letGo, statusOf, taskRuns, WAITING_TASK } from "../waiting-task.ts";

/** A session that waits for the answer to its only question. */
async function asking(here: Rig): Promise<string> {
  expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
  return onlySession(here);
}

describe("cancel at a terminal", () => {
  it("asks once, with what ends, and does nothing unless the person says yes", async () => {
    const here = rig();
    const behind = { task_id: "behind", shell: "true", dependencies: ["wait"] };
    const plan = here.write("plan.json", tinyPlan([WAITING_TASK, behind]));
    const running = here.start(["run", "--plan", plan]);
    const { session_id } = await taskRuns(here);
    const question = `Cancel ${session_id}? 2 unfinished tickets end, 1 agent at work is stopped. [y/N]`;
    for (const [key, code] of [
      ["Enter", 1],
      ["C-c", 130],
    ] as const) {
      const pane = open(here, ["cancel", session_id]);
      await pane.asks(question);
      pane.type(key);
      expect(await pane.exit()).toBe(code);
      expect(pane.screen()).toContain("Nothing was cancelled.");
    }
    expect((await statusOf(here, session_id)).state).toBe("running");
    const pane = open(here, ["cancel", session_id]);
    await pane.asks(question);
    pane.type("y", "Enter");
    expect(await pane.exit()).toBe(0);
    expect((await running.done).code).toBe(1);
  });

  it("asks nothing with --yes", async () => {
    const here = rig();
    const session_id = await asking(here);
    expect(await open(here, ["cancel", session_id, "--yes"]).exit()).toBe(1);
    expect(await statusOf(here, session_id)).toMatchObject({ state: "closed", outcome: "cancelled" });
  });
});

describe("a message to a stopped session", () => {
  it("resumes it at a terminal, unless the person says no", async () => {
    const here = rig();
    const session_id = await asking(here);
    const later = open(here, ["answer", session_id, "name", "Ada"]);
    await later.asks(`${session_id} is stopped. Resume it now? [Y/n]`);
    later.type("n", "Enter");
    expect(await later.exit()).toBe(0);
    expect(later.screen()).toContain(`bosun resume ${session_id}`);
    const gated = [
      "run",
      "--plan",
      here.write("gated.json", tinyPlan([{ task_id: "a", shell: "true" }])),
      "--ask-plan",
    ];
    expect((await typed(here, [...gated, "--session", "gated"])).code).toBe(4);
    const now = open(here, ["plan", "gated", "--approve"]);
    await now.asks("gated is stopped. Resume it now? [Y/n]");
    now.type("Enter");
    expect(await now.exit()).toBe(0);
    expect(now.screen()).toContain("gated is done");
  });

  it("resumes it with --resume, and only prints the command without a terminal", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "a", shell: "true", more: { review: "user" } }]));
    expect((await typed(here, ["run", "--plan", plan, "--session", "s", "--ask-plan"])).code).toBe(4);
    const approved = await typed(here, ["plan", "s", "--approve", "--resume"]);
    expect([approved.code, approved.stdout]).toEqual([4, expect.stringContaining("bosun review s a --approve")]);
    expect((await typed(here, ["review", "s", "a", "--approve", "--resume"])).code).toBe(0);
    const asks = here.write("ask.json", ASK);
    expect((await typed(here, ["run", "--plan", asks, "--session", "t"])).code).toBe(4);
    const kept = await typed(here, ["answer", "t", "name", "Eve"]);
    expect([kept.code, kept.stdout]).toEqual([0, expect.stringContaining("bosun resume t")]);
    expect(existsSync(join(here.workspace, "out.txt"))).toBe(false);
  });
});

describe("a session in the folder of another that works", () => {
  it("is warned of, and begins at a terminal only if the person says so", async () => {
    const here = rig();
    const running = here.start(["run", "--plan", here.write("plan.json", tinyPlan([WAITING_TASK]))]);
    const { session_id } = await taskRuns(here);
    const link = join(here.home, "..", "link");
    symlinkSync(here.workspace, link);
    const quick = [
      "run",
      "--plan",
      here.write("quick.json", tinyPlan([{ task_id: "a", shell: "true" }])),
      "--cwd",
      link,
    ];
    const warning = `${session_id} also works in this folder`;
    const plain = await typed(here, [...quick, "--json", "--session", "second"]);
    expect([plain.code, plain.stderr]).toEqual([0, expect.stringContaining(warning)]);
    expect(plain.stdout).not.toContain(warning);
    const pane = open(here, [...quick, "--session", "third"]);
    await pane.asks("Begin all the same? [Y/n]");
    expect(pane.screen()).toContain(warning);
    pane.type("n", "Enter");
    expect(await pane.exit()).toBe(1);
    expect(here.sessions()).not.toContain("third");
    const other = await typed(here, [...quick.slice(0, -1), here.home, "--session", "elsewhere"]);
    expect([other.code, other.stderr]).toEqual([0, ""]);
    letGo(here);
    expect((await running.done).code).toBe(0);
    expect(await typed(here, quick)).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("retry --all", () => {
  it("tries every ticket again that can be, each after those it depends on", async () => {
    const here = rig();
    const tasks = [
      { task_id: "late", shell: "cat between > late", dependencies: ["between"] },
      { task_id: "between", shell: "cat out.txt > between", dependencies: ["wait"] },
      WAITING_TASK,
    ];
    const plan = here.write("plan.json", tinyPlan(tasks));
    const running = here.start(["run", "--plan", plan, "--session", "s"]);
    await taskRuns(here);
    expect((await typed(here, ["cancel", "s"])).code).toBe(0);
    expect((await running.done).code).toBe(1);
    letGo(here);
    const retried = await typed(here, ["retry", "--all", "s"]);
    expect([retried.code, retried.stderr]).toEqual([0, ""]);
    expect(retried.stdout).toContain("Retrying wait, between, late.");
    expect(readFileSync(join(here.workspace, "late"), "utf8")).toBe("done\n");
    const nothing = await typed(here, ["retry", "--all"]);
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining("s has no ticket that can be tried")]);
    expect((await typed(here, ["replay", "s", "--verify"])).code).toBe(0);
  });
});

it("retry never means a session that is older than the latest", async () => {
  const here = rig();
  const waiting = { task_id: "wait", shell: "true", more: { review: "user" } };
  const older = here.write("older.json", tinyPlan([waiting, { ...waiting, task_id: "parse" }]));
  const newer = here.write("newer.json", tinyPlan([waiting]));
  expect((await typed(here, ["run", "--plan", older, "--session", "older"])).code).toBe(4);
  expect((await typed(here, ["run", "--plan", newer, "--session", "newer"])).code).toBe(4);
  expect((await typed(here, ["cancel", "older", "parse"])).code).toBe(0);
  expect((await typed(here, ["cancel", "newer"])).code).toBe(1);
  const refused = await typed(here, ["retry", "parse"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/newer[^]*bosun retry older parse/)]);
  const retried = await typed(here, ["retry", "wait"]);
  expect(retried.code).toBe(4);
  expect(await typedJson(here, ["status", "newer", "--json"])).toMatchObject({ state: "waiting" });
});
