import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { open, openDashboard, type Pane } from "./terminal.ts";
import { letGo, taskRuns, WAIT } from "./waiting-task.ts";

const seen = (pane: Pane, ...texts: readonly string[]) =>
  until(
    () => `${texts.join(" and ")} on the screen, which is\n${pane.visible()}`,
    () => texts.every((text) => pane.visible().includes(text)),
  );

/** Runs a session of two tickets, one of which fails, copies its log, and removes its home. */
async function copied(here: Rig): Promise<{ copy: string; names: string[] }> {
  const plan = tinyPlan([
    { task_id: "good", shell: "echo fine" },
    { task_id: "bad", shell: "exit 3", more: { max_attempts: 1 } },
  ]);
  await typed(here, ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"]);
  const copy = join(here.workspace, "copy");
  cpSync(join(here.home, "logs", await onlySession(here)), copy, { recursive: true });
  rmSync(here.home, { recursive: true });
  return { copy, names: readdirSync(copy).filter((name) => name.endsWith(".json")) };
}

describe("the replay player", () => {
  it("opens a copied folder without its database, steps, seeks, jumps to a marker, searches and leaves", async () => {
    const here = rig();
    const { copy, names } = await copied(here);
    const count = names.length;
    const pane = openDashboard(here, ["replay", copy, "--step"], { columns: 80, rows: 24 });
    await seen(pane, "REPLAY copy", `1/${count}`, "session_opened", "verified", "no ticket yet");
    expect(pane.isAlternate()).toBe(true);
    pane.type("Right");
    await seen(pane, `2/${count}`);
    pane.type("End");
    await seen(pane, `${count}/${count}`, "session_closed", "+ good", "x bad");
    pane.type("Home", "]");
    await seen(pane, `${names.findIndex((name) => name.includes("-plan.")) + 1}/${count}`, "#", "plan");
    pane.type("g", "5", "Enter");
    await seen(pane, `5/${count}`, "#5 ");
    pane.type("/", "ended with exit code 3", "Enter");
    await seen(pane, "-> scheduler  report  bad");
    pane.type("v");
    await seen(pane, '"issues": [');
    await pane.resize(140, 40);
    pane.type("Escape");
    await seen(pane, "│");
    await pane.resize(30, 8);
    await seen(pane, "Needs 40×10");
    await pane.resize(80, 24);
    pane.type("0", " ");
    await seen(pane, `${count}/${count}`, "This is the last record.");
    pane.type("q");
    expect(await pane.exit()).toBe(0);
    expect(pane.isAlternate()).toBe(false);
    await pane.shows("Left at record");
  });

  it("plays by itself at the given speed, and stops at the end", async () => {
    const here = rig();
    const { copy, names } = await copied(here);
    const pane = openDashboard(here, ["replay", copy, "--speed", "64"], { columns: 100, rows: 30 });
    await seen(pane, `${names.length}/${names.length}`, "‖ 64x", "This is the last record.");
    pane.type("C-c");
    expect(await pane.exit()).toBe(0);
    await pane.shows(`--at ${names.length}`);
  });

  it("shows a damaged log, with the problems of each record", async () => {
    const here = rig();
    const { copy, names } = await copied(here);
    writeFileSync(join(copy, names[3] ?? ""), "{");
    rmSync(join(copy, names[6] ?? ""));
    const pane = openDashboard(here, ["replay", copy, "--at", "4"], { columns: 100, rows: 30 });
    await seen(pane, "NOT VERIFIED", `${names[3]} cannot be read`, "It is not a record");
    pane.type("g", "8", "Enter");
    await seen(pane, "missing before it: 7");
    pane.type("End", "q");
    expect(await pane.exit()).toBe(0);
  });

  it("lists the records instead where it does not fit, or with --list", async () => {
    const here = rig();
    const { copy } = await copied(here);
    const dumb = openDashboard(here, ["replay", copy, "--play"], { env: { TERM: "dumb" } });
    expect(await dumb.exit()).toBe(0);
    await dumb.shows("The records are listed.");
    await dumb.shows("session_closed");
    for (const pane of [open(here, ["replay", copy]), openDashboard(here, ["replay", copy, "--list"])]) {
      expect(await pane.exit()).toBe(0);
      await pane.shows("session_closed");
    }
  });

  it("plays a running session, and follows it to its end", async () => {
    const here = endAfterwards(rig());
    await here.run(["run", "--plan", here.write("plan.json", WAIT), "--session", "mine", "--detach"]);
    await taskRuns(here);
    const pane = openDashboard(here, ["replay", "mine", "--step"], { columns: 80, rows: 24 });
    await seen(pane, "REPLAY mine", "verified so far");
    pane.type("End");
    await seen(pane, "> wait");
    pane.type(" ");
    letGo(here);
    await seen(pane, "session_closed", "+ wait", "This is the last record.");
    await until("the closed log to be proved again", () => /  verified\s*$/m.test(pane.visible()));
    pane.type("Escape");
    expect(await pane.exit()).toBe(0);
  });
});
