import { join } from "node:path";
import { expect, it } from "vitest";
import { typed, typedJson } from "./in-process.ts";
import { jsonLines, type Rig, rig, ROOT, tinyPlan } from "./rig.ts";

function agent(here: Rig, name: string, answers: object): string {
  return `${process.execPath} ${join(ROOT, "tests/fixtures/agents/given.mjs")} ${here.write(name, JSON.stringify(answers))}`;
}

/** The arguments of a run of three tickets, each with these notes of its worker. */
function run(here: Rig, notes: readonly string[]): string[] {
  const report = { status: "completed", summary: "Done", notes };
  const plan = here.write(
    "plan.json",
    tinyPlan(
      [
        { task_id: "a", shell: "true" },
        { task_id: "b", shell: "true", dependencies: ["a"] },
        { task_id: "c", shell: "true", dependencies: ["b"] },
      ],
      { metadata: {} },
    ),
  );
  const manager = agent(here, "manager.json", { ticket: ["instruction", { summary: "Do it" }] });
  const worker = agent(here, "worker.json", { instruction: ["report", report] });
  return ["run", "--plan", plan, "--manager", manager, "--worker", worker, "--session", "s1", "--no-input"];
}

it("all notes of a session's workers are listed, as lines, as objects and in its report", async () => {
  const here = rig();
  const notes = Array.from({ length: 10 }, (_, index) => `Note ${index}\n\u001b[31mof many`);
  expect((await typed(here, run(here, notes))).code).toBe(0);
  // Turns are told only the latest twenty.
  const lines = (await typed(here, ["notes"])).stdout.split("\n");
  expect(lines.filter((line) => / [abc] +worker: Note \d of many$/.test(line))).toHaveLength(30);
  expect(lines.join("\n")).not.toContain("\u001b");

  const objects = jsonLines<object>((await typed(here, ["notes", "s1", "--json"])).stdout);
  expect(objects).toHaveLength(30);
  expect(objects[10]).toEqual({
    sequence: expect.any(Number),
    at: expect.stringMatching(/Z$/),
    ticket_id: "b",
    role_id: "worker",
    text: notes[0],
  });
  expect((await typedJson<{ notes: object[] }>(here, ["report", "s1", "--json"])).notes).toEqual(objects);
  for (const how of [["--md"], []])
    expect((await typed(here, ["report", "s1", ...how])).stdout).toMatch(
      /Notes of workers for each other\n[^]*Note 9 of many/,
    );
  expect((await typed(here, ["notes", join(here.home, "logs", "s1"), "--json"])).stdout).toContain("Note 9");
});

it("a session without notes says so, and what is no log is refused", async () => {
  const here = rig();
  expect((await typed(here, run(here, []))).code).toBe(0);
  expect((await typed(here, ["notes", "s1"])).stdout).toMatch(/^No worker has noted anything/);
  expect(await typed(here, ["notes", "s1", "--json"])).toMatchObject({ code: 0, stdout: "" });
  expect((await typed(here, ["report", "s1", "--md"])).stdout).not.toContain("Notes of workers");
  expect(await typed(here, ["notes", here.workspace])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("not a session's log"),
  });
});
