import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadPlanFile } from "../../src/crew/playbook/plan-file.ts";
import { validators } from "../../src/protocol/generated/validators.js";
import { planProblems } from "../../src/protocol/playbook/plan-check.ts";
import { answerOf, cleanUp, directory, programFile } from "./programs.ts";
import { computing } from "../computing.ts";

afterEach(cleanUp);

async function problem(text: string, name = "plan.yaml"): Promise<string> {
  const folder = directory();
  const path = join(folder, name);
  writeFileSync(path, text);
  const loaded = await loadPlanFile(path, programFile("playbook"));
  return loaded.ok ? "" : loaded.error.replaceAll(`${folder}/`, "");
}

const task = "tasks:\n  - task_id: a\n    description: A.\n";

describe("a wrong plan file is explained by file, line and key", () => {
  it.each([
    [
      "a misspelt key",
      `${task}    dependancies: []\n`,
      'plan.yaml:4: tasks[0].dependancies: unknown key "dependancies"; did you mean "dependencies"?',
    ],
    ["no tasks", "summary: x\n", 'plan.yaml:1: "tasks" is missing'],
    ["an empty list of tasks", "tasks: []\n", "plan.yaml:1: tasks: expected at least 1 entry, found none"],
    [
      "a wrong kind",
      "tasks:\n  - task_id: a\n    description: [x]\n",
      "plan.yaml:3: tasks[0].description: expected a text, found a list",
    ],
    [
      "a wrong id",
      "tasks:\n  - task_id: 'a b'\n    description: A.\n",
      'plan.yaml:2: tasks[0].task_id: expected a task id of letters, digits, ., _ and -, found "a b"',
    ],
    [
      "the same id twice",
      `${task}  - task_id: a\n    description: B.\n`,
      'plan.yaml:4: tasks[1].task_id: tasks[0] has the same task_id "a"; they must differ',
    ],
    [
      "an unknown dependency",
      `${task}    dependencies: [b]\n`,
      'plan.yaml:4: tasks[0].dependencies[0]: there is no task "b"; did you mean "a"?',
    ],
    [
      "a circle",
      `${task}    dependencies: [c]\n  - task_id: b\n    description: B.\n    dependencies: [a]\n  - task_id: c\n    description: C.\n    dependencies: [b]\n`,
      "plan.yaml:4: tasks[0].dependencies: the tasks wait for each other in a circle: a needs c needs b needs a; take one of these dependencies away",
    ],
    [
      "an unknown placeholder",
      `${task}    instruction:\n      summary: "\${answers.x}"\n`,
      "plan.yaml:5: tasks[0].instruction.summary: ${answers.x} stands for nothing; expected one of node, crew, crew.shell; a literal one is written $${",
    ],
    [
      "a program that the crew has not",
      `${task}    instruction: { summary: "\${crew.nobody}" }\n`,
      "plan.yaml:4: tasks[0].instruction.summary: ${crew.nobody} stands for nothing; expected one of node, crew, crew.shell; a literal one is written $${",
    ],
    [
      "a placeholder in quotes of the shell",
      `${task}    instruction: { summary: S, steps: [{ shell: 'echo "\${node}"' }] }\n`,
      "plan.yaml:4: tasks[0].instruction.steps[0].shell: ${node} stands inside quotes; leave them out, the value comes quoted for the shell",
    ],
    [
      "a command and a shell text at once",
      `${task}    instruction: { summary: S, steps: [{ shell: x, command: [y] }] }\n`,
      'plan.yaml:4: tasks[0].instruction.steps[0]: expected either "command" or "shell", found both',
    ],
    [
      "a default that the pattern refuses",
      `${task}questions:\n  - question_id: q\n    text: Q?\n    default: x\n    metadata: { playbook: { pattern: '\\d+' } }\n`,
      "plan.yaml:7: questions[0].default: the default does not match the pattern \\d+",
    ],
    [
      "a wrong word for the playbook",
      `${task}    metadata: { playbook: { on_error: panic } }\n`,
      'plan.yaml:4: tasks[0].metadata.playbook.on_error: expected one of repeat, give_up, found "panic"',
    ],
  ])("%s", async (_, text, expected) => {
    expect(await problem(text)).toBe(expected);
  });

  it.each([
    [
      "a pattern that is none",
      `${task}questions:\n  - question_id: q\n    text: Q?\n    metadata: { playbook: { pattern: '(' } }\n`,
      /^plan\.yaml:7: questions\[0\]\.metadata\.playbook\.pattern: expected a regular expression/,
    ],
    ["bad YAML", "tasks:\n  - [\n", /^plan\.yaml:\d: /],
    ["a key twice", "summary: a\nsummary: b\n", /^plan\.yaml:\d: Map keys must be unique/],
    [
      "aliases that blow up",
      `a: &a [x, x]\n${"bcdefghij"
        .split("")
        .map((name, index) => `${name}: &${name} [${`*${"abcdefghi"[index]},`.repeat(9)}]`)
        .join("\n")}\n`,
      /^plan\.yaml: Excessive alias count/,
    ],
  ])("%s, in the words of the parser", async (_, text, expected) => {
    expect(await problem(text)).toMatch(expected);
  });

  it("in JSON, by line too", async () => {
    expect(await problem('{\n  "tasks": [\n    {"task_id": "a"}\n  ]\n}\n', "plan.json")).toBe(
      'plan.json:3: tasks[0]: "description" is missing',
    );
    expect(await problem('{\n  "tasks": [,\n', "plan.json")).toMatch(/^plan\.json:\d: /);
  });

  it("a file that is not there, is a folder, or is no text", async () => {
    const folder = directory();
    mkdirSync(join(folder, "plan.yaml"));
    const load = async (name: string): Promise<unknown> =>
      await loadPlanFile(join(folder, name), programFile("playbook"));
    expect(await load("none.yaml")).toMatchObject({
      ok: false,
      error: expect.stringContaining("there is no such file"),
    });
    expect(await load("plan.yaml")).toMatchObject({ ok: false, error: expect.stringContaining("is not a file") });
    writeFileSync(join(folder, "bytes.yaml"), Buffer.from([0x74, 0xff, 0xfe]));
    expect(await load("bytes.yaml")).toMatchObject({
      ok: false,
      error: expect.stringContaining("expected text in UTF-8"),
    });
  });
});

it("a plan may have the empty texts that its schema lets agents write, so that their plans can be exported and played", () => {
  const plan = {
    summary: "",
    questions: [{ question_id: "q", text: "Which?", why: "", default: "" }],
    tasks: [
      {
        task_id: "a",
        description: "A.",
        status: "",
        expected_outputs: [""],
        risks: [{ text: "" }],
        instruction: { summary: "s", resources: [""], steps: ["", { text: "", shell: "true" }] },
      },
    ],
  };
  expect(validators.plan_file(plan)).toBe(true);
  expect(planProblems(plan, () => true)).toEqual([]);
});

describe("a plan of 20,000 tasks", () => {
  const tasks = (dependencies: (index: number) => readonly string[]) =>
    Array.from({ length: 20_000 }, (_, index) => ({
      task_id: `t${index}`,
      description: "A.",
      dependencies: dependencies(index),
    }));
  const chain = (first: readonly string[]) => tasks((index) => (index === 19_999 ? first : [`t${index + 1}`]));
  const message = (dependencies: (index: number) => readonly string[]) =>
    planProblems({ tasks: tasks(dependencies) }, () => true)[0]?.message;

  it("is looked through at once as a chain, with a circle in it or without", async () => {
    expect(await problem(JSON.stringify({ tasks: chain([]) }), "plan.json")).toBe("");
    const [whole, circle] = [{ tasks: chain([]) }, { tasks: chain(["t0"]) }];
    expect(computing(() => expect(planProblems(whole, () => true)).toEqual([]))).toBeLessThan(5_000);
    const found = () =>
      expect(planProblems(circle, () => true)).toMatchObject([{ path: ["tasks", 0, "dependencies"] }]);
    expect(computing(found)).toBeLessThan(5_000);
  });

  it("is looked through at once where hundreds of them wait for a thousand others", () => {
    const last = Array.from({ length: 1_000 }, (_, index) => `t${18_500 + index}`);
    const plan = { tasks: tasks((index) => (index < 19_500 ? [] : last)) };
    expect(computing(() => expect(planProblems(plan, () => true)).toEqual([]))).toBeLessThan(5_000);
  });

  it("is looked through at once where every task waits for one that is not there, or names what nothing stands for", () => {
    const unknown = tasks((index) => [`u${index + 1}`]).slice(0, 8_000);
    const questions = Array.from({ length: 5_000 }, (_, index) => ({ question_id: `q${index}`, text: `${index}?` }));
    const named = unknown.slice(0, 1_000).map((one) => ({ ...one, description: "${answers.x}", dependencies: [] }));
    const found: ReturnType<typeof planProblems>[] = [];
    const computed = computing(() => {
      found.push(
        planProblems({ tasks: unknown }, () => true),
        planProblems({ tasks: named, questions }, () => true),
      );
    });
    expect(computed).toBeLessThan(5_000);
    const [[first, ...others] = [], second = []] = found;
    const messages = second.map(({ message }) => message);
    expect(first?.message).toBe('there is no task "u1"; did you mean "t1"?');
    expect(others).toHaveLength(7_999);
    expect(messages).toHaveLength(1_000);
    expect(messages[0]?.length).toBeLessThan(300);
    expect(messages[0]).toContain("expected one of node, crew, crew.shell, answers.q0, ");
  });

  it("is explained in few words, which an answer can hold", () => {
    expect(message((index) => (index === 7 ? ["somebody"] : []))).toMatchInlineSnapshot(
      `"there is no task "somebody"; expected one of t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, … and 19990 more"`,
    );
    expect(message((index) => [`t${(index + 1) % 20_000}`])).toMatchInlineSnapshot(
      `"the tasks wait for each other in a circle: t0 needs t1 needs t2 needs t3 needs t4 needs t5 needs t6 needs t7 needs t8 needs t9 needs … and 19990 more needs t0; take one of these dependencies away"`,
    );
  });
});

it("the playbook answers invalid_plan with that explanation", async () => {
  const file = join(directory(), "plan.yaml");
  writeFileSync(file, "tasks:\n  - task_id: a\n");
  const asked = { type: "requirement", payload: { text: "x" }, expects: ["plan"] };
  const { type, payload } = await answerOf("playbook", asked, { env: { BOSUN_PLAYBOOK: file } });
  expect(type).toBe("error");
  expect(payload).toMatchObject({
    code: "invalid_plan",
    message: `${file}:2: tasks[0]: "description" is missing`,
    resolution_hint: `correct ${file}`,
  });
});
