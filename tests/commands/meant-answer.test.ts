import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { ASKING, type Rig, rig, tinyPlan } from "./rig.ts";
import { ASK } from "./waiting-task.ts";

const DONE = tinyPlan([{ task_id: "last", shell: "true" }]);

/** A plan with two questions. */
const TWO = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
  questions: [...ASKING.questions, { question_id: "age", text: "How old?", default: "7" }],
});

/** Types what a refusal says would be an answer, and goes on with the session. */
async function copied(here: Rig, stderr: string): Promise<void> {
  const [, command = ""] = /^ {2}To answer \S+ with (?:it|that word|"\w+"): (.*)$/m.exec(stderr) ?? [];
  const env = { ...here.environment, BOSUN_HOME: here.home };
  expect(execFileSync("sh", ["-c", command], { env, cwd: here.workspace, encoding: "utf8" })).toContain("Kept for");
  expect((await typed(here, ["resume"])).code).toBe(0);
}

describe("a word that may be meant as an answer", () => {
  it.each(["s-zzzzzz", "d-zzzzzz", "d-zzzzzz.12"])(
    "is not %s, the misspelt name of a session, unless it is typed as it is told",
    async (name) => {
      const here = rig();
      expect((await typed(here, ["run", "--plan", here.write("ask.json", ASK)])).code).toBe(4);
      const said = await typed(here, ["answer", name]);
      expect([said.code, said.stderr]).toEqual([2, expect.stringContaining(`no session "${name}"`)]);
      await copied(here, said.stderr);
      expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe(`${name}\n`);
    },
  );

  it("is a prefix of the session's id, unless typed as the hint shows", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("ask.json", ASK), "--session", "small"])).code).toBe(4);
    const listed = await typed(here, ["answer", "s"]);
    expect([listed.code, listed.stdout]).toEqual([4, expect.stringContaining("bosun answer small c1.name Ada\n")]);
    expect((await typed(here, ["answer", "small"])).stdout).not.toContain('"small"');
    await copied(here, listed.stdout);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("s\n");
  });

  it("is another session's id, unless typed as the hint shows", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("ask.json", ASK)])).code).toBe(4);
    const closed = "over";
    expect((await typed(here, ["run", "--plan", here.write("done.json", DONE), "--session", closed])).code).toBe(0);
    const said = await typed(here, ["answer", closed]);
    expect([said.code, said.stderr]).toEqual([2, expect.stringContaining(`The session ${closed} asks nothing.`)]);
    await copied(here, said.stderr);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe(`${closed}\n`);
  });

  it("is the id of an answered question, unless typed as the hint shows", async () => {
    const here = rig();
    expect((await here.run(["run", "--plan", here.write("plan.json", TWO)])).code).toBe(4);
    expect((await here.run(["resume", "--answer", "name=Eve"])).code).toBe(4);
    const said = await typed(here, ["answer", "name"]);
    expect([said.code, said.stderr]).toEqual([2, expect.stringContaining("name is already answered")]);
    expect((await typed(here, ["answer", "name", "Bob"])).stderr).not.toContain("To answer");
    await copied(here, said.stderr);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve name\n");
  });
});
