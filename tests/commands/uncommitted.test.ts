import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { foreignCrew, rig, tinyPlan } from "./rig.ts";
import { openDashboard } from "./terminal.ts";

describe("a run in a folder with uncommitted changes", () => {
  it("tells which before the work begins, but not for the embedded crew", async () => {
    const here = rig();
    const args = ["run", "Write a page", ...foreignCrew(), "--no-input"];
    expect((await typed(here, args)).stderr).not.toContain("uncommitted");
    execFileSync("git", ["init", "-q"], { cwd: here.workspace });
    for (let index = 1; index <= 7; index++) writeFileSync(join(here.workspace, `note ${index}.md`), "x");
    const { code, stderr } = await typed(here, args);
    expect([code, stderr]).toEqual([4, expect.stringMatching(/7 files: note 1\.md, .* and 2 more/)]);
    expect(stderr).toMatch(/Agents work in this folder[^]*--cwd/);
    const plan = here.write("plan.json", tinyPlan([{ task_id: "a", shell: "true" }]));
    expect((await typed(here, ["run", "--plan", plan])).stderr).not.toContain("uncommitted");
  });

  it("asks a person whether to begin, before the dashboard hides what is told", async () => {
    const here = rig();
    execFileSync("git", ["init", "-q"], { cwd: here.workspace });
    writeFileSync(join(here.workspace, "note.md"), "x");
    const pane = openDashboard(here, ["run", "Write a page", ...foreignCrew()]);
    await pane.asks("Begin all the same?");
    expect([pane.isAlternate(), pane.screen()]).toEqual([false, expect.stringContaining("1 file: note.md")]);
    pane.type("n", "Enter");
    expect(await pane.exit()).toBe(1);
    expect(here.sessions()).toEqual([]);
  });
});
