import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";
import { open } from "./terminal.ts";

const NARROW = 40;

/** A home with a session whose log is longer than the terminals of these tests, which wrap its lines. */
async function withLongLog(): Promise<Rig> {
  const here = rig();
  const tasks = Array.from({ length: 8 }, (_, index) => ({ task_id: `task-${index}`, shell: "true" }));
  const plan = here.write("plan.json", tinyPlan(tasks));
  expect((await typed(here, ["run", "--plan", plan, "--session", "long"])).code).toBe(0);
  return here;
}

it("shows a long log in less until the person quits it", async () => {
  const here = await withLongLog();
  const pane = open(here, ["log", "long"], {}, NARROW);
  await pane.shows("\n:");
  expect(pane.screen()).not.toContain("next    bosun log");
  // Ctrl-C discards typed input, and less redraws its page.
  pane.type("C-c");
  await pane.shows("\n:", 2);
  pane.type("G");
  await pane.shows("next    bosun log");
  pane.type("q");
  expect(await pane.exit()).toBe(0);
});

it("exits quietly if the person quits the pager at once", async () => {
  const here = await withLongLog();
  const pane = open(here, ["log", "long"], { PAGER: "head -n 1" }, NARROW);
  expect(await pane.exit()).toBe(0);
  expect(pane.screen().trimEnd().split("\n")).toHaveLength(1);
});

it("runs the pager in a shell, and passes it all lines with their colours", async () => {
  const here = await withLongLog();
  const pane = open(here, ["log", "long"], { PAGER: "cat > paged; true" }, NARROW);
  expect(await pane.exit()).toBe(0);
  expect(pane.screen().trim()).toBe("");
  const paged = readFileSync(join(here.workspace, "paged"), "utf8");
  for (const end of ["asked playbook", "next    bosun log"]) expect(paged).toContain(end);
  expect(paged).toContain("\u001B[2m");
});

/** Why there is no pager, the command's arguments, and its environment variables. */
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

it("writes to the terminal without a pager if there is none, it is unwanted, or the output is short or JSON", async () => {
  const here = await withLongLog();
  for (const [why, args, env] of UNPAGED) {
    const pane = open(here, args, env, NARROW);
    expect([why, await pane.exit()]).toEqual([why, 0]);
    expect([why, pane.screen()]).toEqual([why, expect.stringMatching(/next {4}bosun|"task-7"/)]);
  }
  const { code, stdout } = await here.run(["log", "long"], { env: { PAGER: "cat >/dev/null; true" } });
  expect([code, stdout]).toEqual([0, expect.stringContaining("next    bosun log")]);
});
