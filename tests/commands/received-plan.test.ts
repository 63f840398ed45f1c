import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { rig, tinyPlan } from "./rig.ts";

const WRITE = tinyPlan([{ task_id: "write", shell: "echo hello > out.txt" }]);

describe("a plan on standard input", () => {
  it("is read as `plan --export -` writes it, also for an existing session", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", WRITE), "--session", "first"])).code).toBe(0);
    const exported = (await here.run(["plan", "first", "--export", "-"])).stdout;
    const again = ["run", "--plan", "-", "--session", "second"];
    expect(await here.run([...again, "--plan-only"], { input: exported })).toMatchObject({ code: 4, stderr: "" });
    expect(await here.run(["plan", "second", "--approve"])).toMatchObject({ code: 0 });
    expect(await here.run(again, { input: WRITE })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/\bsecond\b.* plan\b/),
    });
    expect(await here.run([...again, "--plan-only"], { input: exported })).toMatchObject({ code: 0, stderr: "" });
    expect((await here.run(["plan", "second", "--export", "-"])).stdout).toBe(exported);
  });

  it("is refused with its place, and cannot also be the requirement", async () => {
    const here = rig();
    const refused = async (input: string, ...more: string[]) =>
      (await here.run(["run", "--plan", "-", ...more], { input })).stderr;
    expect(await refused(`tasks:\n  - { task_id: a, description: A }\nquestion: no\n`)).toContain(
      'standard input:3:1: "question"',
    );
    expect(await refused("")).toMatch(/standard input: .*empty/);
    for (const also of [["-"], ["--file", "-"]])
      expect(await refused(WRITE, ...also)).toMatch(/plan.*requirement.*standard input/);
    expect(here.sessions()).toEqual([]);
  });
});
