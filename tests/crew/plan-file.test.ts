import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadPlanFile } from "../../src/crew/playbook/plan-file.ts";
import { validators } from "../../src/protocol/generated/validators.js";
import { planFindings } from "../../src/protocol/playbook/plan-check.ts";
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

describe("a wrong plan file is refused at the position of its problem", () => {
  it.each<[of: string, text: string, where: string, facts: RegExp]>([
    ["a misspelt key", `${task}    dependancies: []\n`, "4:5", /"dependancies".*"dependencies"/],
    ["no tasks", "summary: x\n", "1:1", /"tasks"/],
    ["an empty list of tasks", "tasks: []\n", "1:8", /"tasks".*empty/],
    ["a wrong type", "tasks:\n  - task_id: a\n    description: [x]\n", "3:18", /a string, not a list/],
    [
      "an empty criterion in place of a list",
      `${task}    acceptance_criteria: ""\n`,
      "4:26",
      /"acceptance_criteria".*empty/,
    ],
    [
      "an unknown dependency of a single task",
      "tasks:\n  task_id: a\n  description: A.\n  dependencies: [b]\n",
      "4:18",
      /"b".*"a"/,
    ],
    ["a wrong id", "tasks:\n  - task_id: 'a b'\n    description: A.\n", "2:14", /"a b"/],
    ["a duplicate id", `${task}  - task_id: a\n    description: B.\n`, "4:14", /tasks\[0\].*"a"/],
    ["an unknown dependency", `${task}    dependencies: [b]\n`, "4:20", /"b".*"a"/],
    [
      "a cycle",
      `${task}    dependencies: [c]\n  - task_id: b\n    description: B.\n    dependencies: [a]\n  - task_id: c\n    description: C.\n    dependencies: [b]\n`,
      "4:19",
      /a needs c needs b needs a/,
    ],
    [
      "an unknown placeholder",
      `${task}    instruction:\n      summary: "\${answers.x}"\n`,
      "5:16",
      /\$\{answers\.x\}[^]*node, crew, crew\.shell/,
    ],
    ["an unknown program", `${task}    instruction: { summary: "\${crew.nobody}" }\n`, "4:29", /\$\{crew\.nobody\}/],
    [
      "a placeholder in quotes of the shell",
      `${task}    instruction: { summary: S, steps: [{ shell: 'echo "\${node}"' }] }\n`,
      "4:49",
      /\$\{node\}[^]*quotes/,
    ],
    ["a blank description", "tasks:\n  - task_id: a\n    description: ' '\n", "3:18", /blanks/],
    [
      "a command beside a shell text in a revision",
      `${task}    metadata: { playbook: { revisions: [{ summary: S, steps: [a, { shell: x, command: [y] }] }] } }\n`,
      "4:66",
      /command and shell/,
    ],
    ["an empty fatal issue", `${task}    metadata: { playbook: { fatal_issues: [x, ""] } }\n`, "4:47", /empty/],
    [
      "a playbook key of another part",
      `metadata: { playbook: { on_error: repeat } }\n${task}`,
      "1:25",
      /"instruction"|instruction/,
    ],
    [
      "a command beside a shell text",
      `${task}    instruction: { summary: S, steps: [{ shell: x, command: [y] }] }\n`,
      "4:40",
      /command and shell/,
    ],
    [
      "a revision without a summary",
      `${task}    metadata: { playbook: { revisions: [{ steps: [a] }] } }\n`,
      "4:41",
      /"summary" is missing/,
    ],
    [
      "a default that the pattern refuses",
      `${task}questions:\n  - question_id: q\n    text: Q?\n    default: x\n    metadata: { playbook: { pattern: '\\d+' } }\n`,
      "7:14",
      /\\d\+/,
    ],
    [
      "a default that is none of the options of a closed question",
      `${task}questions: [{ question_id: q, text: Q?, options: [y, n], free_text: false, default: x }]\n`,
      "4:85",
      /none of the options[^]*y, n/,
    ],
    [
      "a pattern that is no regular expression",
      `${task}questions:\n  - question_id: q\n    text: Q?\n    metadata: { playbook: { pattern: '(' } }\n`,
      "7:38",
      /regular expression/,
    ],
    ["an unknown choice", `${task}    metadata: { playbook: { on_error: panic } }\n`, "4:39", /give_up.*"panic"/],
    ["an unknown key of the playbook", `${task}    metadata: { playbook: { onerror: x } }\n`, "4:29", /"on_error"/],
    ["a playbook that is a list", `${task}    metadata: { playbook: [] }\n`, "4:27", /an object/],
    ["broken YAML", "tasks:\n  - [\n", "2:5", /closed/],
    ["a duplicate key", "summary: a\nsummary: b\n", "2:1", /"summary"/],
  ])("%s", async (_, text, where, facts) => {
    const said = await problem(text);
    expect(said).toMatch(facts);
    expect(said.startsWith(`plan.yaml:${where}: `)).toBe(true);
  });

  it("in JSON too", async () => {
    const text = '{\n  "tasks": [\n    {"task_id": "a"}\n  ]\n}\n';
    expect(await problem(text, "plan.json")).toMatch(/^plan\.json:3:5: "description" is missing/);
    expect(await problem('{\n  "tasks": [,\n', "plan.json")).toMatch(/^plan\.json:2:13: /);
    expect(await problem(`{"$schema": "x", "tasks": [{"task_id": "a", "description": "A."}]}`, "plan.json")).toBe("");
  });

  it.each<[of: string, make: (path: string) => void, facts: RegExp]>([
    ["missing", () => {}, /no such file/],
    ["a folder", (path) => mkdirSync(path), /EISDIR/],
    ["no UTF-8", (path) => writeFileSync(path, Buffer.from([0x74, 0xff, 0xfe])), /UTF-8/],
  ])("%s", async (_, make, facts) => {
    const path = join(directory(), "plan.yaml");
    make(path);
    const loaded = await loadPlanFile(path, programFile("playbook"));
    expect(loaded).toEqual({ ok: false, error: expect.stringMatching(facts) as string });
    expect(!loaded.ok && loaded.error.startsWith(path)).toBe(true);
  });
});

it("a plan may have the empty strings that its schema allows, as in an exported plan", () => {
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
  expect(planFindings(plan, () => true)).toEqual([]);
});

describe("a plan of 20,000 tasks", () => {
  const tasks = (dependencies: (index: number) => readonly string[]) =>
    Array.from({ length: 20_000 }, (_, index) => ({
      task_id: `t${index}`,
      description: "A.",
      dependencies: dependencies(index),
    }));
  const chain = (first: readonly string[]) => tasks((index) => (index === 19_999 ? first : [`t${index + 1}`]));
  const first = (dependencies: (index: number) => readonly string[]) =>
    planFindings({ tasks: tasks(dependencies) }, () => true)[0];

  it("is checked in time as a chain, with a cycle or without", async () => {
    expect(await problem(JSON.stringify({ tasks: chain([]) }), "plan.json")).toBe("");
    const [whole, cycle] = [{ tasks: chain([]) }, { tasks: chain(["t0"]) }];
    expect(computing(() => expect(planFindings(whole, () => true)).toEqual([]))).toBeLessThan(5_000);
    const found = () => expect(planFindings(cycle, () => true)).toMatchObject([{ pointer: "/tasks/0/dependencies" }]);
    expect(computing(found)).toBeLessThan(5_000);
  });

  it("is checked in time when hundreds of tasks need a thousand others", () => {
    const last = Array.from({ length: 1_000 }, (_, index) => `t${18_500 + index}`);
    const plan = { tasks: tasks((index) => (index < 19_500 ? [] : last)) };
    expect(computing(() => expect(planFindings(plan, () => true)).toEqual([]))).toBeLessThan(5_000);
  });

  it("is checked in time when every dependency or placeholder is unknown", () => {
    const unknown = tasks((index) => [`u${index + 1}`]).slice(0, 8_000);
    const questions = Array.from({ length: 5_000 }, (_, index) => ({ question_id: `q${index}`, text: `${index}?` }));
    const named = unknown.slice(0, 1_000).map((one) => ({ ...one, description: "${answers.x}", dependencies: [] }));
    const found: ReturnType<typeof planFindings>[] = [];
    const computed = computing(() => {
      found.push(
        planFindings({ tasks: unknown }, () => true),
        planFindings({ tasks: named, questions }, () => true),
      );
    });
    expect(computed).toBeLessThan(5_000);
    const [[first, ...others] = [], second = []] = found;
    expect(first).toMatchObject({ what: expect.stringContaining('"u1"') as string, nearest: "t1" });
    expect(others).toHaveLength(7_999);
    expect(second).toHaveLength(1_000);
    expect(second[0]?.expected?.length).toBeLessThan(300);
    expect(second[0]?.expected).toContain("node, crew, crew.shell, answers.q0, ");
  });

  it("is refused in few words", () => {
    const unknown = first((index) => (index === 7 ? ["somebody"] : []));
    expect(unknown?.expected).toMatch(/t0, t1, .*t9, … and 19990 more$/);
    const cycle = first((index) => [`t${(index + 1) % 20_000}`]);
    expect(cycle?.what).toMatch(/t0 needs t1 needs .*t9 needs … and 19990 more needs t0$/);
  });
});

it("the playbook answers invalid_plan with that text", async () => {
  const file = join(directory(), "plan.yaml");
  writeFileSync(file, "tasks:\n  - task_id: a\n");
  const asked = { type: "requirement", payload: { text: "x" }, expects: ["plan"] };
  const { type, payload } = await answerOf("playbook", asked, { env: { BOSUN_PLAYBOOK: file } });
  expect(type).toBe("error");
  expect(payload).toMatchObject({
    code: "invalid_plan",
    message: expect.stringContaining(`${file}:2:5: "description"`) as string,
    resolution_hint: expect.stringContaining(file) as string,
  });
});
