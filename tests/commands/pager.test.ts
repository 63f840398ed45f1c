import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";
import { open } from "./terminal.ts";

const NARROW = 40;

/** A home with a session whose log is longer than the terminals of these tests, in which lines are broken. */
async function withLongLog(): Promise<Rig> {
  const here = rig();
  const tasks = Array.from({ length: 8 }, (_, index) => ({ task_id: `task-${index}`, shell: "true" }));
  const plan = here.write("plan.json", tinyPlan(tasks));
  expect((await typed(here, ["run", "--plan", plan, "--session", "long"])).code).toBe(0);
  return here;
}

it("shows a long log in less, which the person leaves", async () => {
  const here = await withLongLog();
  const pane = open(here, ["log", "long"], {}, NARROW);
  await pane.shows("\n:");
  expect(pane.screen()).not.toContain("next    bosun log");
  // Ctrl-C discards what is typed, and less draws its page again.
  pane.type("C-c");
  await pane.shows("\n:", 2);
  pane.type("G");
  await pane.shows("next    bosun log");
  pane.type("q");
  expect(await pane.exit()).toBe(0);
});

it("ends quietly if the person leaves the pager at once", async () => {
  const here = await withLongLog();
  const pane = open(here, ["log", "long"], { PAGER: "head -n 1" }, NARROW);
  expect(await pane.exit()).toBe(0);
  expect(pane.screen().trimEnd().split("\n")).toHaveLength(1);
});

it("takes a pager that only a shell understands, and gives it all lines with their colours", async () => {
  const here = await withLongLog();
  const pane = open(here, ["log", "long"], { PAGER: "cat > paged; true" }, NARROW);
  expect(await pane.exit()).toBe(0);
  expect(pane.screen().trim()).toBe("");
  const paged = readFileSync(join(here.workspace, "paged"), "utf8");
  for (const end of ["asked playbook", "next    bosun log"]) expect(paged).toContain(end);
  expect(paged).toContain("\u001B[2m");
});

/** Why there is no pager, the command, and its variables. */
const UNPAGED: readonly (readonly [why: string, args: readonly string[], env: Record<string, string>])[] = [
  ["--no-pager is given", ["log", "long", "--no-pager"], {}],
  ["the session is followed", ["log", "-f", "long"], {}],
  ["PAGER is cat", ["log", "long"], { PAGER: "cat" }],
  ["PAGER is empty", ["log", "long"], { PAGER: "" }],
  ["the pager is not installed", ["log", "long"], { PAGER: "no-such-pager -x" }],
  ["the terminal is dumb", ["log", "long"], { TERM: "dumb" }],
  ["the output is short", ["inbox"], { PAGER: "cat >/dev/null; true" }],
  ["the output is JSON", ["plan", "long", "--json"], { PAGER: "cat >/dev/null; true" }],
];

it("writes to the terminal itself where there is no pager, it is unwanted, or the output is short or for programs", async () => {
  const here = await withLongLog();
  for (const [why, args, env] of UNPAGED) {
    const pane = open(here, args, env, NARROW);
    expect([why, await pane.exit()]).toEqual([why, 0]);
    expect([why, pane.screen()]).toEqual([why, expect.stringMatching(/next {4}bosun|"task-7"/)]);
  }
  const { code, stdout } = await here.run(["log", "long"], { env: { PAGER: "cat >/dev/null; true" } });
  expect([code, stdout]).toEqual([0, expect.stringContaining("next    bosun log")]);
});
