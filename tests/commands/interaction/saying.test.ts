import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "../in-process.ts";
import { ASKING, type Rig, rig, tinyPlan, until } from "../rig.ts";
import { endAfterwards } from "../strays.ts";
import { ASK } from "../waiting-task.ts";

const DONE = tinyPlan([{ task_id: "last", shell: "true" }]);

/** A plan with two questions, one of which has no default. */
const TWO = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
  questions: [...ASKING.questions, { question_id: "age", text: "How old?", default: "7" }],
});

interface Row {
  readonly session_id: string;
}

/** An older session that waits, and a newer one that is done. */
async function openThenClosed(here: Rig): Promise<{ open: string; closed: string }> {
  expect((await typed(here, ["run", "--plan", here.write("ask.json", ASK)])).code).toBe(4);
  const open = await onlySession(here);
  expect((await typed(here, ["run", "--plan", here.write("done.json", DONE)])).code).toBe(0);
  const rows = await typedJson<Row[]>(here, ["status", "--all", "--json"]);
  const closed = rows.find(({ session_id }) => session_id !== open)?.session_id ?? "";
  return { open, closed };
}

describe("--no-more", () => {
  it("closes the open questions, and the manager decides", async () => {
    const here = rig();
    const ran = await here.run(["run", "--plan", here.write("plan.json", TWO)]);
    expect(ran.code).toBe(4);
    // Each is shown after the record that asks it.
    expect(ran.stdout).toMatch(
      /QUESTIONS from playbook .*\n.*WAITS FOR A PERSON\n(?: +.*\n)+.*WAITS FOR A PERSON\n(?: +.*\n)+.*STOPPED/,
    );
    const said = await here.run(["answer", "--no-more"]);
    expect(said).toMatchObject({ code: 0, stderr: "" });
    expect(said.stdout).toContain("bosun resume");
    const resumed = await here.run(["resume"]);
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toMatch(/ANSWERED by \S+ \(cli\), no more questions$/m);
    expect(resumed.stdout).toMatch(/^Going on with s-/);
    const closed = await here.run(["resume", await onlySession(here)]);
    expect([closed.code, closed.stdout]).toEqual([0, expect.stringMatching(/^Session s-/)]);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Ada 7\n");
  });

  it("goes with an answer to one question", async () => {
    const here = rig();
    expect((await here.run(["run", "--plan", here.write("plan.json", TWO)])).code).toBe(4);
    expect((await here.run(["answer", "name", "Eve", "--no-more"])).code).toBe(0);
    expect((await here.run(["resume"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 7\n");
  });
});

describe("an answer to the wrong thing", () => {
  it("names the command for a plan, a result or a review", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true", more: { review: "user" } }]));
    const ask = here.write("config.json", JSON.stringify({ plan_approval: "ask" }));
    expect((await here.run(["run", "--plan", plan, "--session", "s", "--config", ask, "--confirm"])).code).toBe(4);
    const waits = ["bosun plan s", "bosun review s write", "bosun review s"];
    const words = [["plan"], ["review", "s", "write"], ["review", "s"]];
    for (const [index, command] of waits.entries()) {
      const asked = await typed(here, ["answer"]);
      expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining(`something else: ${command}.\n`)]);
      expect((await typed(here, [...(words[index] ?? []), "--approve"])).code).toBe(0);
      expect((await typed(here, ["resume"])).code).toBe(index < 2 ? 4 : 0);
    }
  });

  it("is refused if it is empty or given twice", async () => {
    const here = rig();
    expect((await here.run(["run", "--plan", here.write("plan.json", TWO)])).code).toBe(4);
    for (const [args, told] of [
      [["review", "--changes", " "], "--changes"],
      [["answer", "name", "Eve", "--defaults"], "--defaults"],
      [["answer", "name", "Eve", "--file", "none"], "--file"],
      [["plan", "--notes", "Fine."], "--notes goes with --approve, --reject or --edit"],
      [["plan", "--revise", "Shorter.", "--notes", "Please."], "--notes goes with --approve, --reject or --edit"],
    ] as const) {
      const said = await typed(here, args);
      expect([said.code, said.stderr]).toEqual([2, expect.stringContaining(told)]);
    }
    expect((await typed(here, ["answer"])).stdout).not.toContain("kept");
  });
});

describe("a command without a session", () => {
  it("shows the newest session, though an older one is open", async () => {
    const here = rig();
    const { open, closed } = await openThenClosed(here);
    for (const [words, told] of [
      [["log"], `log ${closed}`],
      [["log", "last"], `replay ${closed}`],
      [["plan"], `status ${closed}`],
      [["replay"], `replay ${closed} --verify`],
      [["replay", "--verify"], closed],
      [["attach"], closed],
    ] as const) {
      const looked = await typed(here, words);
      expect(`${words.join(" ")}\n${looked.stdout}`).toContain(told);
      expect(looked.stdout).not.toContain(open);
    }
  });

  it("changes the open session", async () => {
    const here = rig();
    const { open } = await openThenClosed(here);
    expect((await typed(here, ["answer", "Eve"])).stdout).toContain(`bosun resume ${open}`);
    expect((await typed(here, ["resume"])).stdout).toContain(`${open} is done`);
    const gated = here.write("config.json", JSON.stringify({ plan_approval: "ask" }));
    const run = (more: string[]) => typed(here, ["run", "--plan", here.write("plan.json", DONE), ...more]);
    expect((await run(["--session", "gated", "--config", gated])).code).toBe(4);
    expect((await run([])).code).toBe(0);
    expect((await typed(here, ["plan", "--approve"])).stdout).toContain("bosun resume gated");
  });

  it("finds a ticket of a closed session and names the session", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("done.json", DONE)])).code).toBe(0);
    const session_id = await onlySession(here);
    for (const words of [
      ["cancel", "last"],
      ["tell", "last", "Hurry."],
    ]) {
      const refused = await typed(here, words);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain(`"last" is closed: done`);
      expect(refused.stderr).toContain(`bosun resume ${session_id}`);
    }
    const misspelt = await typed(here, ["cancel", "lest"]);
    expect(misspelt.stderr).toContain(
      `There is no session "lest", and ${session_id} has no ticket "lest". Did you mean last?`,
    );
  });
});

describe("bosun plan", () => {
  it("refuses an empty --revise, and a decision on a closed session", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("done.json", DONE)])).code).toBe(0);
    expect(await typed(here, ["plan", "--revise", " "])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--revise") as string,
    });
    const late = await typed(here, ["plan", "--approve"]);
    expect(late.code).toBe(2);
    expect(late.stderr).toContain("--export FILE");
    expect(late.stderr).not.toContain("bosun tell");
  });
});

describe("an answer given beforehand", () => {
  it("is reported if it fits no question and the session waits", async () => {
    const here = rig();
    const plan = here.write("plan.json", TWO);
    const file = here.write("answers.yaml", "- question_id: agee\n  text: 8\n- match: colour\n  text: red\n");
    const run = await here.run(["run", "--plan", plan, "--answers", file, "--answer", "name=Eve"]);
    expect(run.code).toBe(4);
    expect(run.stderr).toBe(
      'No question that was asked is called "agee". Did you mean age?\nNo question that was asked has "colour" in it.\nOpen: c1.age.\n',
    );
    const again = await here.run(["resume", "--answer", "name=Eve", "--answer", "ag=9"]);
    expect(again.code).toBe(4);
    expect(again.stderr).toBe('No question that was asked is called "ag". Did you mean age?\nOpen: c1.age.\n');
    const answered = await here.run(["answer", "--file", here.write("more.yaml", "age: 8\nname: Bob\n")]);
    expect([answered.stderr, answered.code]).toEqual([
      'No question that is open is called "name".\nOpen: c1.age.\n',
      0,
    ]);
    expect(await here.run(["resume", "--answer", "nobody=asked"])).toMatchObject({ code: 0, stderr: "" });
  });

  it("is reported if it fits no question and a default was taken", async () => {
    const here = rig();
    const run = (...given: string[]) =>
      here.run(["run", "--plan", here.write("plan.json", TWO), "--unanswered", "default", ...given]);
    const told = 'No question that was asked is called "agee". Did you mean age?\n';
    expect(await run("--answer", "name=Eve", "--answer", "agee=8")).toMatchObject({ code: 0, stderr: told });
    const all = ["--answer", "name=Eve", "--answer", "age=8", "--answer", "more=x"];
    expect(await run(...all)).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("an answer that is a number", () => {
  const plan = (here: Rig) => here.write("plan.json", TWO);
  const written = (here: Rig) => readFileSync(join(here.workspace, "out.txt"), "utf8");

  it.each<[door: string, args: (here: Rig) => string[]]>([
    ["a flag", () => ["--answer", "name=2", "--answer", "age=2"]],
    ["a file", (here) => ["--answers", here.write("answers.yaml", "name: 2\nage: 2\n")]],
  ])("picks an option, or is itself without options: by %s", async (_, args) => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", plan(here), ...args(here)])).code).toBe(0);
    expect(written(here)).toBe("Bob 2\n");
  });

  it.each<[door: string, args: (here: Rig) => string[][]]>([
    [
      "words",
      () => [
        ["name", "2"],
        ["age", "2"],
      ],
    ],
    ["a file", (here) => [["--file", here.write("answers.yaml", "name: 2\nage: 2\n")]]],
  ])("does the same with `bosun answer`: by %s", async (_, args) => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", plan(here)])).code).toBe(4);
    for (const said of args(here)) expect((await typed(here, ["answer", ...said])).code).toBe(0);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(written(here)).toBe("Bob 2\n");
  });

  it("is shown as the option it picks", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", plan(here)])).code).toBe(4);
    expect((await typed(here, ["answer", "name", "2"])).stdout).toMatch(/^c1\.name: Bob\nKept for /);
    expect((await typed(here, ["answer", "age", "2"])).stdout).toMatch(/^Kept for /);
  });

  it("is refused if no option has it, and nothing else is decided", async () => {
    const here = rig();
    const told = "c1.name has no option 3.";
    const hint = "Give a number from 1 to 2, or an answer in words.";
    const given = ["--answer", "name=3", "--unanswered", "default"];
    const run = await typed(here, ["run", "--plan", plan(here), ...given]);
    expect([run.code, run.stderr]).toEqual([4, `${told} ${hint}\nOpen: c1.name, c1.age.\n`]);
    const refused = await typed(here, ["answer", "name", "3"]);
    expect([refused.code, refused.stderr]).toEqual([2, `Error: ${told}\n  ${hint}\n`]);
    const filed = await typed(here, ["answer", "--defaults", "--file", here.write("a.yaml", "name: 3\n")]);
    expect(filed.stderr).toBe(`${told} ${hint}\nOpen: c1.name, c1.age.\n`);
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([
      { question_id: "c1.name" },
      { question_id: "c1.age", kept: "7" },
    ]);
    const left = await typed(here, ["resume", "--answer", "name=3", "--unanswered", "manager"]);
    expect([left.code, left.stderr]).toEqual([4, `${told} ${hint}\nOpen: c1.name.\n`]);
    expect((await typed(here, ["resume", "--answer", "name=1"])).code).toBe(0);
    expect(written(here)).toBe("Ada 7\n");
  });
});

describe("resume --release", () => {
  it("needs a role that the session has and that is held", async () => {
    const here = rig();
    expect((await here.run(["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
    const session_id = await onlySession(here);
    for (const [role, told] of [
      ["shel", `The session ${session_id} has no role "shel". Did you mean shell?\n  No role is held.`],
      ["shell", `The role "shell" of ${session_id} is not held.\n  No role is held.`],
    ] as const) {
      const refused = await here.run(["resume", "--release", role]);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain(told);
    }
  });
});

describe("an answer to a stopped session", () => {
  it("is shown as kept by every list, and settles the question", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", TWO)])).code).toBe(4);
    const session_id = await onlySession(here);
    expect((await typed(here, ["answer", "name", "Eve"])).code).toBe(0);
    const told = `answered "Eve"; to deliver it: bosun resume ${session_id}`;
    for (const looking of [["status", session_id], ["inbox"], ["answer"]]) {
      const looked = await typed(here, looking);
      expect(looked.stdout).toContain(told);
      expect(looked.stdout).toContain(`bosun answer ${session_id} c1.age 7`);
      expect(looked.code).toBe(looking[0] === "answer" ? 4 : 0);
    }
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([{ kept: "Eve" }, { question_id: "c1.age" }]);
    const second = await typed(here, ["answer", "name", "Bob"]);
    expect(second.stdout).toMatch(/c1\.name: "Eve"/);
    expect((await typed(here, ["answer", "--defaults"])).code).toBe(0);
    expect((await typed(here, ["answer"])).code).toBe(0);
    const third = await typed(here, ["answer", "name", "Ada"]);
    expect(third.code).toBe(2);
    expect(third.stderr).toMatch(/c1\.name .*"Bob"/);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob 7\n");
    expect((await typed(here, ["inbox"])).stdout).not.toContain("bosun answer");
  });

  it("is refused if the question has a recorded answer", async () => {
    const here = endAfterwards(rig());
    expect((await here.run(["run", "--plan", here.write("plan.json", TWO), "--detach"])).code).toBe(0);
    const session_id = await onlySession(here);
    await until("the questions", async () => (await typedJson<object[]>(here, ["inbox", "--json"])).length === 2);
    expect((await typed(here, ["answer", "name", "Eve"])).code).toBe(0);
    for (const words of [["c1.name", "Bob"], ["name"], [session_id, "name", "Bob"]]) {
      const left = await typed(here, ["answer", ...words]);
      expect([left.code, left.stdout]).toEqual([2, ""]);
      expect(left.stderr).toMatch(/^Error: (c1\.)?name is already answered\.\n {2}Open are c1\.age\./);
    }
    expect((await typed(here, ["answer", "8"])).code).toBe(0);
    await until("the end", async () => (await typed(here, ["status", session_id])).stdout.includes("is done"));
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 8\n");
  });

  it("names the questions that defaults or a file leave open", async () => {
    const here = rig();
    const questions = [...ASKING.questions, { question_id: "age", text: "How old?", why: "It is asked for." }];
    const plan = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} ${answers.age} > out.txt" }], {
      questions,
    });
    expect((await typed(here, ["run", "--plan", here.write("plan.json", plan), "--session", "s"])).code).toBe(4);
    const open =
      '\ns still asks:\n  ? c1.age: How old?\n      why: It is asked for.\n      bosun answer s c1.age "…"\n';
    const file = here.write("answers.yaml", "name: Eve\n");
    for (const given of [["--defaults"], ["--file", file]]) {
      const left = await typed(here, ["answer", ...given]);
      expect([left.code, left.stdout]).toEqual([0, expect.stringContaining(open)]);
    }
    for (const given of [["name", "Bob"], ["--no-more"]]) {
      const left = await typed(here, ["answer", ...given]);
      expect([given, left.code, left.stdout]).toEqual([given, 0, expect.not.stringContaining("still asks")]);
    }
  });

  it("is refused from a file that fits no open question", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", TWO), "--session", "s"])).code).toBe(4);
    const wrong = ["answer", "--file", here.write("wrong.yaml", "nmae: Eve\n")];
    expect((await typed(here, wrong)).code).toBe(4);
    expect((await typed(here, ["answer", "--file", here.write("right.yaml", "nmae: 1\nname: 2\n")])).code).toBe(0);
    expect((await typed(here, wrong)).code).toBe(4);
    expect((await typed(here, ["answer", "age", "7"])).code).toBe(0);
    const refused = await typed(here, wrong);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('is called "nmae". Did you mean name?');
    expect(refused.stderr).toMatch(/Error: \S+wrong\.yaml .*\n.*bosun resume s\./);
    expect((await typed(here, ["answer"])).code).toBe(0);
  });

  it("is kept and shown for a decision on a plan", async () => {
    const here = rig();
    const gated = here.write("config.json", JSON.stringify({ plan_approval: "ask" }));
    expect((await typed(here, ["run", "--plan", here.write("plan.json", DONE), "--config", gated])).code).toBe(4);
    const session_id = await onlySession(here);
    expect((await typed(here, ["plan", "--approve"])).code).toBe(0);
    const told = `answered "approved"; to deliver it: bosun resume ${session_id}`;
    expect((await typed(here, ["status", session_id])).stdout).toContain(told);
    expect((await typed(here, ["plan"])).stdout).toContain(told);
    const second = await typed(here, ["plan", "--reject"]);
    expect(second.code).toBe(2);
    expect(second.stderr).toContain(`The plan of ${session_id} has a decision already: "approved"`);
  });

  it("is kept and shown for a review of a ticket or the result", async () => {
    const here = rig();
    const more = { review: "user" };
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true", more }]));
    expect((await typed(here, ["run", "--plan", plan, "--confirm", "--session", "s"])).code).toBe(4);
    const twice = async (first: string[], second: string[], told: string) => {
      expect(await typed(here, ["review", ...first])).toMatchObject({ code: 0, stderr: "" });
      const left = await typed(here, ["review", ...second]);
      expect([left.code, left.stdout]).toEqual([2, ""]);
      expect(left.stderr).toContain(`${told} of s has a decision already: "approved"`);
    };
    await twice(["write", "--approve"], ["s", "write", "--changes", "Better."], "The work on write");
    expect((await typed(here, ["resume"])).code).toBe(4);
    await twice(["--approve"], ["--reject"], "The result");
    expect((await typed(here, ["resume"])).code).toBe(0);
  });
});
