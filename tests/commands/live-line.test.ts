import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { rig, tinyPlan } from "./rig.ts";
import { open, openTerminal } from "./terminal.ts";

const WAIT = (file: string) => `while ! test -e ${file}; do sleep 0.05; done`;

const PLAN = tinyPlan([
  { task_id: "one", shell: WAIT("one") },
  { task_id: "two", shell: `${WAIT("say")}; echo said; ${WAIT("two")}`, dependencies: ["one"] },
  { task_id: "three", shell: "true", dependencies: ["two"] },
]);

describe("the status line of a terminal", () => {
  it.each(["--foreground", "--reporter=plain"])("stays last, and is gone at the end: %s", async (flag) => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", PLAN), flag], {}, 60);
    const last = () => pane.screen().trimEnd().split("\n").at(-1);
    await pane.shows("0/3 done · 1 at work");
    expect(last()).toBe("0/3 done · 1 at work");
    await pane.resize(16);
    writeFileSync(join(here.workspace, "one"), "");
    await pane.shows("1/3 done · 1 a…");
    await pane.resize(60);
    // The next line of output redraws it.
    writeFileSync(join(here.workspace, "say"), "");
    await pane.shows("1/3 done · 1 at work");
    expect(last()).toBe("1/3 done · 1 at work");
    expect(pane.screen()).not.toMatch(/done · .*\n[^]*done · /);
    writeFileSync(join(here.workspace, "two"), "");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toContain("3 of 3 tickets done");
    expect(pane.screen()).not.toContain("done ·");
  });

  it("makes room for a question", async () => {
    const here = rig();
    const asking = { questions: [{ question_id: "name", text: "Whose name?", options: ["Ada", "Bob"] }] };
    const pane = open(here, [
      "run",
      "--plan",
      here.write("plan.json", tinyPlan([{ task_id: "one", shell: WAIT("one") }], asking)),
    ]);
    await pane.asks("Whose name?");
    expect(pane.screen()).not.toContain("needs you");
    pane.type("1", "Enter");
    await pane.shows("0/1 done · 1 at work");
    expect(pane.screen()).toMatch(/\n> 1\n {2}c1\.name: Ada\n/);
    writeFileSync(join(here.workspace, "one"), "");
    expect(await pane.exit()).toBe(0);
  });

  it.each([
    [{ NO_COLOR: "1" }, true],
    [{ TERM: "dumb" }, false],
    [{ CI: "true" }, false],
  ])("is shown with %o: %s", async (env, isThere) => {
    const here = rig();
    const args = [
      "run",
      "--plan",
      here.write("plan.json", tinyPlan([{ task_id: "one", shell: `echo here; ${WAIT("one")}` }])),
    ];
    const pane = open(here, args, env);
    await pane.shows("shell | here");
    if (isThere) await pane.shows("0/1 done · 1 at work");
    writeFileSync(join(here.workspace, "one"), "");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).not.toContain("done ·");
  });

  it.each(["| cat", "2>messages"])("is not shown with %s", async (redirected) => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: `echo here; ${WAIT("one")}` }]));
    const line = `'${process.execPath}' '${built("cli.js")}' run --plan '${plan}' --reporter plain ${redirected}`;
    const environment = { ...here.environment, BOSUN_HOME: here.home };
    const pane = openTerminal(here.workspace, ["sh", "-c", line], { environment });
    await pane.shows("shell | here");
    expect(pane.screen()).not.toContain("done ·");
    writeFileSync(join(here.workspace, "one"), "");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).not.toContain("done ·");
  });
});
