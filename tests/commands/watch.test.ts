import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { open, type Pane } from "./terminal.ts";
import { letGo, statusOf, taskRuns, WAIT, WAITING_TASK } from "./waiting-task.ts";

async function detached(here: Rig, plan: string, session = "mine"): Promise<void> {
  const run = ["run", "--plan", here.write("plan.json", plan), "--session", session, "--detach"];
  expect((await here.run(run)).stderr).toBe("");
}

const times = (screen: string, text: string) => screen.split(text).length - 1;

/** The rows that are on the screen now, without the scrollback. */
const visible = (pane: Pane, rows: number) =>
  pane
    .screen()
    .split("\n")
    .slice(-rows - 1)
    .join("\n");

it("lets viewers of every kind watch one session to its end, even if one of them dies", async () => {
  const here = endAfterwards(rig());
  await detached(here, WAIT);
  await taskRuns(here);
  const views = [["attach"], ["attach", "--json"], ["log", "mine", "-f"], ["log", "mine", "wait", "-f"], ["attach"]];
  const running = views.map((words) => here.start(words));
  for (const viewer of running) await until("the viewer to be there", () => viewer.stdout().includes("in_progress"));
  const pane = open(here, ["status", "--watch"]);
  await pane.shows("Running: wait");
  const waits = here.start(["wait"]);
  running.pop()?.child.kill("SIGKILL");
  letGo(here);
  const ended = await Promise.all([...running, waits].map(({ done }) => done));
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(ended.map(() => [0, ""]));
  expect(await pane.exit()).toBe(0);
  expect((await typed(here, ["replay", "mine", "--verify"])).code).toBe(0);
});

describe("bosun status --watch", () => {
  it("repaints a session in place until it is closed", async () => {
    const here = endAfterwards(rig());
    await detached(here, tinyPlan([WAITING_TASK, { task_id: "after", shell: "true", dependencies: ["wait"] }]));
    await taskRuns(here);
    const pane = open(here, ["status", "--watch"]);
    await pane.shows("Running: wait (shell, ");
    await typed(here, ["pause"]);
    await pane.shows("mine is paused");
    await typed(here, ["resume"]);
    await pane.shows("mine is running");
    letGo(here);
    expect(await pane.exit()).toBe(0);
    const screen = pane.screen();
    expect(screen).toMatch(/^mine is done$/m);
    expect(screen).toMatch(/^after +done /m);
    expect(times(screen, "mine is ")).toBe(1);
    expect(screen).not.toContain("Running:");
    const closed = open(here, ["status", "mine", "-w"]);
    expect(await closed.exit()).toBe(0);
    await closed.shows("mine is done");
  });

  it("lists all sessions if none is named, and exits with 0 on Ctrl-C", async () => {
    const here = endAfterwards(rig());
    await typed(here, ["run", "--plan", here.write("plan.json", tinyPlan([{ task_id: "a", shell: "true" }]))]);
    const first = await onlySession(here);
    const pane = open(here, ["status", "--watch"]);
    await pane.shows(`${first}  done`);
    await detached(here, WAIT);
    await pane.shows("mine      running");
    const alone = open(here, ["status", "mine", "--watch"]);
    await alone.shows("mine is running");
    const { owner } = await statusOf(here, "mine");
    process.kill(owner?.pid ?? 0, "SIGKILL");
    await pane.shows("crashed; resume it");
    await alone.shows("mine crashed; resume it");
    await alone.shows("bosun resume mine");
    expect(times(pane.screen(), "SESSION")).toBe(1);
    pane.type("C-c");
    expect(await pane.exit()).toBe(0);
  });

  it("shows what needs a person first on a short terminal, and everything again on a tall one", async () => {
    const here = endAfterwards(rig());
    const more = { review: "user" };
    const late = Array.from({ length: 20 }, (_, index) => ({
      task_id: `late-${index}`,
      shell: "true",
      dependencies: ["first"],
    }));
    await detached(here, tinyPlan([{ task_id: "first", shell: "true", more }, ...late]));
    const pane = open(here, ["status", "mine", "--watch"]);
    await pane.shows("late-19");
    const command = "bosun review mine first --approve";
    await pane.shows(command);
    await pane.resize(60, 15);

    await until("the counts of the others", () => /^and \d+ pending$/m.test(visible(pane, 15)));
    for (const told of ["mine is ", command, "awaiting_review"]) expect(times(visible(pane, 15), told)).toBe(1);
    await pane.resize(110, 50);
    await pane.shows("late-19");
    for (const told of ["mine is ", command, "awaiting_review"]) expect(times(visible(pane, 50), told)).toBe(1);
    await typed(here, ["cancel", "mine"]);
    expect(await pane.exit()).toBe(0);
  });

  it("is refused without a terminal that can be painted, and with --json", async () => {
    const here = rig();
    for (const more of [[], ["--json"]]) {
      const { code, stdout, stderr } = await here.run(["status", "--watch", ...more]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--watch")]);
      expect(stdout === "").toBe(more.length === 0);
    }
    const dumb = open(here, ["status", "--watch"], { TERM: "dumb" });
    expect(await dumb.exit()).toBe(2);
  });
});
