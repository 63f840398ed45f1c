import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "../in-process.ts";
import { ASKING, foreignCrew, type Rig, rig, tinyPlan, until } from "../rig.ts";
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
      /QUESTIONS from playbook .*\n.*WAITS FOR A PERSON\n(?: +.*\n)+.*WAITS FOR A PERSON\n(?: +.*\n)+(?:.*\n)*.*stopped: /,
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

describe("a refused answer", () => {
  it.each(["s-zzzzzz", "d-zzzzzz", "d-zzzzzz.12"])("is %s, the misspelt id of a session", async (name) => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("ask.json", ASK), "--session", "small"])).code).toBe(4);
    const said = await typed(here, ["answer", name]);
    expect([said.code, said.stderr]).toEqual([2, expect.stringContaining(`"${name}"`)]);
    // The beginning of a session's id is that session.
    expect(await typed(here, ["answer", "sma"])).toMatchObject({ code: 4, stderr: "" });
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([{ question_id: "c1.name" }]);
  });

  it("is empty, given twice, or for something that is no question", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }]));
    expect((await here.run(["run", "--plan", plan, "--session", "gated", "--plan-only"])).code).toBe(4);
    expect((await here.run(["run", "--plan", here.write("two.json", TWO), "--session", "two"])).code).toBe(4);
    for (const [args, told] of [
      [["answer", "gated"], "bosun status gated"],
      [["answer", "name"], "c1.name"],
      [["answer", "nmae", "Eve"], "c1.name, c1.age"],
      [["answer", "name", "Eve", "--defaults"], "--defaults"],
      [["answer", "name", "Eve", "--file", "none"], "--file"],
      [["review", "--changes", " "], "--changes"],
      [["plan", "--revise", " "], "--revise"],
      [["plan", "--notes", "Fine."], "--notes"],
      [["plan", "--revise", "Shorter.", "--notes", "Please."], "--notes"],
    ] as const) {
      const said = await typed(here, args);
      expect([args, said.code, said.stderr]).toEqual([args, 2, expect.stringContaining(told)]);
    }
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([{}, {}, {}]);
    expect((await typed(here, ["inbox", "--json"])).stdout).not.toContain('"kept":');
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

it("plan --approve of a closed session is refused", async () => {
  const here = rig();
  expect((await typed(here, ["run", "--plan", here.write("done.json", DONE), "--session", "over"])).code).toBe(0);
  expect((await typed(here, ["plan", "over", "--approve"])).code).toBe(2);
});

describe("an answer given beforehand", () => {
  it("is reported if no question matches it", async () => {
    const here = rig();
    const file = here.write("answers.yaml", "- question_id: agee\n  text: 8\n- match: colour\n  text: red\n");
    // This worker may ask questions that the plan does not have.
    const begin = [
      "run",
      "--plan",
      here.write("plan.json", TWO),
      ...foreignCrew().slice(2),
      "--answers",
      file,
      "--answer",
      "name=Eve",
    ];
    const told = /^.*"agee".*\n.*"colour".*\n$/;
    const asks = await typed(here, begin);
    expect([asks.code, asks.stderr]).toEqual([4, expect.stringMatching(told)]);
    const done = await typed(here, [...begin, "--answer", "age=8"]);
    expect([done.code, done.stderr]).toEqual([0, expect.stringMatching(told)]);
    const answered = await typed(here, ["answer", "--file", here.write("more.yaml", "age: 8\nname: Bob\n")]);
    expect([answered.code, answered.stderr]).toEqual([0, expect.stringMatching(/^.*"name".*\n$/)]);
    expect(await typed(here, ["resume", "--answer", "age=9"])).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 8\n");
  });

  it.each<[args: string[], file: string, code: number, told: RegExp]>([
    [["--answer", "nmae=Eve", "--answer", "age=8"], "", 2, /"nmae=Eve".*"nmae".* did you mean "name"\?/],
    [["--answer", "c1.name=Eve", "--answer", "colour=red"], "", 2, /"colour"[^]* name, age/],
    [["--answer", "name=3"], "", 2, /name has no option 3/],
    [["--answer", "sure=perhaps"], "", 2, /"perhaps" is none of the options of c1\.sure[^]* yes, no/],
    [["--answers"], "age: 8\nnmae: Eve\n", 3, /answers\.yaml:2:1: .*"nmae"; did you mean "name"\?\n.* nmae: Eve\n.*\^/],
    [["--answers"], "- {match: whose, text: Eve}\n- {match: colour, text: red}\n", 3, /answers\.yaml:2:3: .*"colour"/],
    [["--answers"], "age: 8\nsure: 3\n", 3, /answers\.yaml:2:1: .*"3" is none of the options of c1\.sure/],
  ])(
    "is refused before the session begins if it fits no question of the plan: %j %j",
    async (args, file, code, told) => {
      const here = rig();
      const sure = { question_id: "sure", text: "Sure?", options: ["yes", "no"], free_text: false };
      const { questions, ...plan } = JSON.parse(TWO) as { questions: object[] };
      const asking = here.write("plan.json", JSON.stringify({ ...plan, questions: [...questions, sure] }));
      const given = file === "" ? args : [...args, here.write("answers.yaml", file)];
      const refused = await typed(here, ["run", "--plan", asking, ...given]);
      expect([refused.code, refused.stderr]).toEqual([code, expect.stringMatching(told)]);
      expect(here.sessions()).toEqual([]);
    },
  );
});

describe("an answer that is none of the options", () => {
  it("is taken with a remark, unless the question is closed", async () => {
    const here = rig();
    const sure = { question_id: "sure", text: "Sure?", options: ["yes", "no"], free_text: false };
    const { questions, ...plan } = JSON.parse(TWO) as { questions: object[] };
    const asking = here.write("plan.json", JSON.stringify({ ...plan, questions: [...questions, sure] }));
    expect((await typed(here, ["run", "--plan", asking])).code).toBe(4);
    const refused = await typed(here, ["answer", "sure", "perhaps"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/"perhaps" .*c1\.sure[^]* yes, no/)]);
    const inFile = await typed(here, ["answer", "--file", here.write("answers.yaml", "sure: perhaps\nname: Eve\n")]);
    expect([inFile.code, inFile.stderr]).toEqual([0, expect.stringMatching(/"perhaps"[^]*none of the options/)]);
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([
      { question_id: "c1.name", kept: "Eve" },
      { question_id: "c1.age" },
      { question_id: "c1.sure", free_text: false },
    ]);
    expect(await typed(here, ["answer", "sure", "2"])).toMatchObject({ code: 0, stderr: "" });
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
    for (const said of args(here)) {
      const { code, stdout } = await typed(here, ["answer", ...said]);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^c1\.(name: Bob|age: 2)$/m)]);
    }
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(written(here)).toBe("Bob 2\n");
  });

  it("is refused if no option has it, and nothing else is decided", async () => {
    const here = rig();
    const told = expect.stringMatching(/c1\.name .*\b3\b.* 1 to 2/) as unknown;
    const given = ["--answer", "name=3", "--unanswered", "default"];
    expect((await typed(here, ["run", "--plan", plan(here)])).code).toBe(4);
    const resumed = await typed(here, ["resume", ...given]);
    expect([resumed.code, resumed.stderr]).toEqual([4, told]);
    const refused = await typed(here, ["answer", "name", "3"]);
    expect([refused.code, refused.stderr.replaceAll("\n", " ")]).toEqual([2, told]);
    const filed = await typed(here, ["answer", "--defaults", "--file", here.write("a.yaml", "name: 3\n")]);
    expect([filed.code, filed.stderr]).toEqual([0, told]);
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([
      { question_id: "c1.name" },
      { question_id: "c1.age", kept: "7" },
    ]);
    const left = await typed(here, ["resume", "--answer", "name=3", "--unanswered", "manager"]);
    expect([left.code, left.stderr]).toEqual([4, told]);
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
      ["shel", `${session_id} holds no role "shel".\n  No role is held.`],
      ["shell", `${session_id} holds no role "shell".\n  No role is held.`],
    ] as const) {
      const refused = await here.run(["resume", "--release", role]);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain(told);
    }
  });
});

describe("an answer to a stopped session", () => {
  it("is kept until resume, and settles the question", async () => {
    const here = rig();
    expect((await typed(here, ["run", "--plan", here.write("plan.json", TWO)])).code).toBe(4);
    const session_id = await onlySession(here);
    const first = await typed(here, ["answer", "name", "Eve"]);
    expect([first.code, first.stdout]).toEqual([0, expect.stringMatching(/c1\.age[^]*bosun resume/)]);
    const told = `answered "Eve"; to deliver it: bosun resume ${session_id}`;
    for (const looking of [["status", session_id], ["inbox"]])
      expect((await typed(here, looking)).stdout).toContain(told);
    expect(await typedJson(here, ["inbox", "--json"])).toMatchObject([{ kept: "Eve" }, { question_id: "c1.age" }]);
    expect((await typed(here, ["answer"])).code).toBe(4);
    const again = async (...words: string[]) => {
      const { code, stdout, stderr } = await typed(here, ["answer", ...words]);
      expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(/c1\.name is answered already/)]);
    };
    await again("name", "Bob");
    await again("name");
    expect((await typed(here, ["answer", "--file", here.write("wrong.yaml", "nmae: Bob\n")])).code).toBe(4);
    expect((await typed(here, ["answer", "--defaults"])).code).toBe(0);
    await again("c1.name", "Bob");
    expect((await typed(here, ["answer"])).code).toBe(0);
    expect((await typed(here, ["answer", "Bob"])).code).toBe(2);
    expect((await typed(here, ["answer", "--file", here.write("more.yaml", "name: Bob\n")])).code).toBe(2);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 7\n");
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
      expect(left.stderr).toMatch(/c1\.name is answered already[^]*c1\.age/);
    }
    expect((await typed(here, ["answer", "8"])).code).toBe(0);
    await until("the end", async () => (await typed(here, ["status", session_id])).stdout.includes("is done"));
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve 8\n");
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
