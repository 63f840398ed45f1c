import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession } from "./in-process.ts";
import { ASKING, type Rig, rig, tinyPlan, until } from "./rig.ts";
import { repositoryRig } from "./repository.ts";
import { endAfterwards } from "./strays.ts";
import { openDashboard, openTerminal, type Pane } from "./terminal.ts";
import { letGo, sessionCloses, statusOf, taskRuns, WAITING_TASK } from "./waiting-task.ts";

const PRINTING = { ...WAITING_TASK, shell: `echo it has begun; ${WAITING_TASK.shell}` };
const AFTER = { task_id: "after", shell: "echo after", dependencies: ["wait"] };

function planFile(here: Rig, more: object = {}): string {
  return here.write("plan.json", tinyPlan([PRINTING, AFTER], more));
}

const seen = (pane: Pane, ...texts: readonly string[]) =>
  until(
    () => `${texts.join(" and ")} on the screen, which is\n${pane.visible()}`,
    () => texts.every((text) => pane.visible().includes(text)),
  );

/** Waits until the dashboard is `columns` wide, and expects no more than `rows` rows. */
async function fills(pane: Pane, columns: number, rows: number): Promise<void> {
  await until(
    () => `a dashboard of ${columns} columns, not\n${pane.visible()}`,
    () =>
      pane
        .visible()
        .split("\n")
        .some((line) => line === "─".repeat(columns)),
  );
  expect(pane.visible().trimEnd().split("\n").length).toBeLessThanOrEqual(rows);
}

describe("the dashboard", () => {
  it("notifies the desktop of a question once, and not again when the person answers it", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "quick", shell: "true" }], ASKING);
    const pane = openDashboard(here, ["run", "--plan", here.write("plan.json", plan)], { columns: 80, rows: 24 });
    const written = here.write("written", "");
    pane.record(written);
    await seen(pane, "[a] answer", "Whose name?");
    pane.type("a");
    await pane.asks("Question 1 of 1");
    pane.type("Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(written, "utf8").split("\u001b]9;")).toHaveLength(2);
  });

  it("takes an answer, shows an agent's output, detaches, attaches again, and ends with a summary", async () => {
    const here = rig();
    const pane = openDashboard(here, ["run", "--plan", planFile(here, ASKING)], { columns: 80, rows: 24 });
    await seen(pane, "[a] answer", "Whose name?");
    expect(pane.isAlternate()).toBe(true);
    pane.type("a");
    await pane.asks("Question 1 of 1");
    expect(pane.isAlternate()).toBe(false);
    pane.type("Enter");
    await taskRuns(here);
    await seen(pane, "in_progress      shell", "after", "nothing needs you");
    pane.type("Enter");
    await seen(pane, "history ·", "it has begun", "state");
    pane.type("q");
    expect(await pane.exit()).toBe(0);
    expect(pane.isAlternate()).toBe(false);
    await pane.shows("is running (pid");
    const session_id = await onlySession(here);
    const again = openDashboard(here, ["attach"], { columns: 140, rows: 40 });
    await seen(again, session_id, "in_progress      shell", "it has begun", "│");
    await fills(again, 140, 40);
    letGo(here);
    expect(await again.exit()).toBe(0);
    await again.shows(`${session_id} is done: 2 of 2 tickets done`);
  });

  it("shows log, changes, folder and the next session in its place, and comes back; Ctrl-C there stops nothing", async () => {
    const here = rig();
    execFileSync("git", ["init", "-q"], { cwd: here.workspace });
    const env = { EDITOR: here.write("editor", "#!/bin/sh\necho edits $1; read line"), PAGER: "cat" };
    chmodSync(env.EDITOR, 0o755);
    const pane = openDashboard(here, ["run", "--plan", planFile(here)], { columns: 80, rows: 24, env });
    const { session_id } = await taskRuns(here);
    await seen(pane, "in_progress      shell");
    pane.type("L");
    await pane.asks("Enter goes back to the dashboard.");
    expect(pane.visible()).toContain("PLAN 2 tasks");
    expect(pane.isAlternate()).toBe(false);
    pane.type("Enter");
    await seen(pane, "nothing needs you");
    pane.type("d");
    await pane.asks("Enter goes back to the dashboard.", 2);
    expect(pane.visible()).toContain("?? pid");
    pane.type("Enter");
    await seen(pane, "nothing needs you");
    pane.type("n");
    await seen(pane, "No other session is running.");
    pane.type("e");
    await seen(pane, "edits ", "plan-to-read.yaml");
    pane.type("C-c");
    await seen(pane, "nothing needs you");
    expect(await statusOf(here, session_id)).toMatchObject({ state: "running" });
    const other = rig();
    const second = other.start(["run", "--plan", planFile(other), "--session", "s-other", "--home", here.home]);
    await until("the other session to run", () => existsSync(join(other.workspace, "pid")));
    pane.type("n");
    await seen(pane, "bosun s-other");
    pane.type("q");
    await seen(pane, `bosun ${session_id}`);
    letGo(other);
    letGo(here);
    expect((await second.done).code).toBe(0);
    expect(await pane.exit()).toBe(0);
  });

  it("shows a ticket's difference and what is merged, and merges what is accepted once the session has closed", async () => {
    const here = repositoryRig();
    const tasks = [
      { task_id: "one", shell: "sed -i 's/^line 3$/three/' a.txt" },
      { task_id: "two", shell: "echo two > two.txt" },
    ];
    const run = ["run", "--plan", here.write("plan.json", tinyPlan(tasks)), "--isolation", "worktree", "--confirm"];
    const pane = openDashboard(here, [...run, "--session", "s"], { columns: 80, rows: 40, env: { PAGER: "cat" } });
    await pane.asks("All tasks are finished. Accept the result?");
    for (const text of ["a.txt   | 2 +-", "two.txt | 1 +", "2 files changed", "all of it: ", " diff s"])
      expect(pane.visible()).toContain(text);
    pane.type("Escape");
    await seen(pane, "[M] accept and merge", "merged");
    pane.type("d");
    await pane.asks("Enter goes back to the dashboard.");
    expect(pane.visible()).toContain("+three");
    expect(pane.visible()).not.toContain("b/two.txt");
    pane.type("Enter");
    await seen(pane, "[M] accept and merge");
    pane.type("M");
    await seen(pane, "accept the result, and merge it? y yes");
    expect(here.git("log", "--format=%s")).toBe("base");
    pane.type("y");
    expect(await pane.exit()).toBe(0);
    await pane.shows("s is merged into main");
    expect(here.git("status", "--porcelain")).toBe("");
    expect(readFileSync(join(here.workspace, "two.txt"), "utf8")).toBe("two\n");
  });

  it("follows resizes of the terminal, and shows its minimum size where it does not fit", async () => {
    const here = rig();
    const pane = openDashboard(here, ["run", "--plan", planFile(here)], { columns: 80, rows: 24 });
    await taskRuns(here);
    await fills(pane, 80, 24);
    await pane.resize(60, 15);
    await fills(pane, 60, 15);
    await pane.resize(30, 8);
    await seen(pane, "Needs 40×10");
    await pane.resize(140, 40);
    await fills(pane, 140, 40);
    letGo(here);
    expect(await pane.exit()).toBe(0);
  });

  it("pauses, cancels a ticket after confirmation, and stops the session on Ctrl-C", async () => {
    const here = rig();
    const pane = openDashboard(here, ["run", "--plan", planFile(here)], { columns: 100, rows: 24 });
    const { session_id } = await taskRuns(here);
    await seen(pane, "in_progress      shell");
    pane.type("p");
    await seen(pane, "Paused");
    pane.type("End", "x");
    await seen(pane, "cancel after?");
    pane.type("y");
    await seen(pane, "cancelled");
    pane.type("C-c");
    await seen(pane, "cut off 1 turn?");
    pane.type("C-c");
    expect(await pane.exit()).toBe(130);
    expect(pane.isAlternate()).toBe(false);
    await pane.shows("bosun resume");
    expect(await statusOf(here, session_id)).toMatchObject({ owner: null });
  });

  it("says that a session stops, and what another Ctrl-C does, where it does something", async () => {
    const here = rig();
    const worker = here.write("stubborn.sh", "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 0.05; done\n");
    const files = ["--plan", here.write("plan.json", tinyPlan([{ task_id: "wait", shell: "true" }]))];
    files.push("--config", here.write("config.json", JSON.stringify({ kill_grace_s: 3 })));
    const size = { columns: 100, rows: 24 };
    const pane = openDashboard(here, ["run", ...files, "--yes", "--no-confirm", "--worker", `sh ${worker}`], size);
    await taskRuns(here);
    await seen(pane, "in_progress      worker");
    const viewer = openDashboard(here, ["attach"], size);
    await seen(viewer, "in_progress      worker");
    const stop = here.run(["stop"]);
    await seen(viewer, "Stopping: asked 1 agent to end.");
    expect(viewer.visible()).not.toContain("Press Ctrl-C");
    await seen(pane, "Stopping: asked 1 agent to end (3s). Press Ctrl-C again to kill them.");
    expect((await stop).code).toBe(0);
  });

  it("suspends on Ctrl-Z, and returns on fg", async () => {
    const here = rig();
    const environment = { ...endAfterwards(here).environment, BOSUN_HOME: here.home };
    const shell = ["bash", "--noprofile", "--norc", "-i"];
    const pane = openTerminal(here.workspace, shell, {
      environment,
      columns: 80,
      rows: 24,
      env: { PS1: "$ ", LC_ALL: "C.UTF-8" },
    });
    pane.type(`bosun run --plan ${planFile(here)}`, "Enter");
    const { session_id } = await taskRuns(here);
    await seen(pane, "in_progress      shell");
    pane.type("C-z");
    await seen(pane, "Stopped");
    expect(pane.isAlternate()).toBe(false);
    pane.type("fg", "Enter");
    await until("the dashboard", () => pane.isAlternate());
    await seen(pane, "in_progress      shell");
    letGo(here);
    await sessionCloses(here, session_id);
    await seen(pane, "2 of 2 tickets done");
  });

  it("asks for a plan's approval, and restores the normal screen however it ends", async () => {
    const here = rig();
    const pane = openDashboard(here, ["run", "--plan", planFile(here), "--ask-plan"], { columns: 80, rows: 24 });
    await seen(pane, "[a] answer", "The plan needs your approval");
    pane.type("a");
    await pane.asks("Approve this plan?");
    pane.type("1", "Enter");
    const { session_id, owner } = await taskRuns(here);
    await seen(pane, "in_progress      shell");
    const viewer = openDashboard(here, ["attach", session_id], { columns: 80, rows: 24 });
    await seen(viewer, "in_progress      shell");
    process.kill(viewer.pid(), "SIGTERM");
    expect(await viewer.exit()).toBe(143);
    expect(viewer.isAlternate()).toBe(false);
    process.kill(owner, "SIGKILL");
    expect(await pane.exit()).toBe(70);
    expect(pane.isAlternate()).toBe(false);
    await pane.shows("bosun resume");
  });

  it("handles keys again after its prompt was answered elsewhere, and ignores pasted text", async () => {
    const here = rig();
    const pane = openDashboard(here, ["run", "--plan", planFile(here, ASKING)], { columns: 80, rows: 24 });
    await seen(pane, "[a] answer");
    pane.type("a");
    await pane.asks("Question 1 of 1");
    expect((await here.run(["answer", "name", "Bob"])).code).toBe(0);
    const { session_id } = await taskRuns(here);
    await seen(pane, "in_progress      shell");
    pane.paste("xyp");
    pane.type("g");
    await seen(pane, "└ ");
    expect(await statusOf(here, session_id)).toMatchObject({ state: "running" });
    pane.type("q");
    expect(await pane.exit()).toBe(0);
    letGo(here);
  });

  it("asks about the open ticket first", async () => {
    const here = rig();
    const reviewed = (task_id: string) => ({ task_id, shell: "true", more: { review: "user" } });
    const plan = here.write("plan.json", tinyPlan([reviewed("first"), reviewed("second")]));
    const pane = openDashboard(here, ["run", "--plan", plan], { columns: 80, rows: 24 });
    await seen(pane, "(and 1 more)");
    pane.type("/", "second", "Enter", "Enter");
    await seen(pane, "history ·", "asks you");
    pane.type("a");
    await pane.asks("Review of second");
    expect(pane.screen()).toContain("task: Do second");
    expect(pane.screen()).toContain("checks: 1 passed");
    pane.type("1", "Enter");
    await pane.asks("Review of first");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
  });

  it("gives way to the plain reporter on a dumb terminal, or when told to", async () => {
    for (const env of [{ TERM: "dumb" }, { TERM: "" }, { BOSUN_REPORTER: "plain" }]) {
      const here = rig();
      const pane = openDashboard(
        here,
        ["run", "--plan", here.write("plan.json", tinyPlan([{ task_id: "a", shell: "true" }]))],
        {
          env,
        },
      );
      expect(await pane.exit()).toBe(0);
      await pane.shows("CLOSED done");
    }
  });
});
