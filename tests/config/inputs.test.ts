import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answerFromFlag, givenAnswer, loadAnswers } from "../../src/config/answers.ts";
import { shipped } from "../../src/lib/files.ts";
import { type Answerable, answerTo } from "../../src/config/picked-option.ts";
import { loadPlanFile } from "../../src/config/plan-file.ts";
import { unplayable } from "../../src/commands/options/plan-file.ts";
import { readText } from "../../src/config/read-text.ts";
import {
  type AskedOf,
  MAX_REQUIREMENT_BYTES,
  MAX_REQUIREMENT_CHARACTERS,
  checkedRequirement,
} from "../../src/commands/options/requirement.ts";
import { ok, type Result } from "../../src/lib/result.ts";
import type { Problem } from "../../src/protocol/document/problem.ts";
import type { Failure } from "../../src/protocol/failure.ts";
import { errorOf, problemsOf, type Scratch, scratch, valueOf } from "./scratch.ts";

describe("a plan file", () => {
  test("is loaded with the positions of its parts", async () => {
    const text =
      "requirement: do it\ntasks:\n  - task_id: a\n    description: A\n  - task_id: b\n    description: B\n    dependencies: [a]\n";
    const { plan, source } = valueOf(await loadPlanFile(scratch().write("plan.yaml", text)));
    expect(plan.tasks.map(({ task_id }) => task_id)).toEqual(["a", "b"]);
    expect(source.position("/tasks/1/dependencies/0")).toMatchObject({ line: 7, column: 20 });
  });
  test("has its misspelt keys and its unknown dependencies told in one round", async () => {
    const step = (word: string) => `    instruction: { summary: s, steps: [{ text: t, ${word}: "true" }] }\n`;
    const task = (id: string, more: string) => `  - task_id: ${id}\n    description: D\n${more}`;
    const text = `requirement: r\ntasks:\n${task("a", step("shel"))}${task("b", `    dependencies: [aa]\n${step("shel")}`)}`;
    const { message } = errorOf(await loadPlanFile(scratch().write("plan.yaml", text)));
    expect(message.match(/plan\.yaml:\d+/g)).toHaveLength(3);
    expect(message).toContain('task "b" depends on "aa", which is not in the plan');
  });
  test("is read as it is meant, and refused where it is written", async () => {
    const place = scratch();
    const text =
      "questions: Since when?\ntasks:\n  task_id: a\n  description: A\n  risks: data loss\n  assigned_to: worker\n";
    const { plan, source } = valueOf(await loadPlanFile(place.write("plan.yaml", text)));
    expect(plan).toEqual({
      questions: [{ question_id: "q1", text: "Since when?" }],
      tasks: [{ task_id: "a", description: "A", risks: ["data loss"], assigned_to: { role_id: "worker" } }],
    });
    // A later finding, about the graph say.
    expect(source.problem({ pointer: "/tasks/0/risks/0", what: "" }).position).toMatchObject({ line: 5, column: 10 });
    const wrong = `${text}  budget: {tokens: 5}\n  acceptance_criteria: ""\n`;
    const failure = errorOf(await loadPlanFile(place.write("plan.yaml", wrong)));
    expect(problemsOf(failure)).toEqual([["8:24", expect.stringContaining('"acceptance_criteria"')]]);
    const budget = wrong.replace(/ {2}acceptance.*\n/, "");
    const later = errorOf(await loadPlanFile(place.write("plan.yaml", budget)));
    expect(problemsOf(later)).toEqual([["7:12", expect.stringContaining("tokens")]]);
  });
  test("is refused with quotes around what was written where a text is wanted", async () => {
    const text =
      "tasks:\n  - task_id: 1.10\n    description: on\n    dependencies: [001, null, true, 0x1F]\n    risks: [~]\n";
    const problems = problemsOf(errorOf(await loadPlanFile(scratch().write("plan.yaml", text))));
    const places = { "2:14": "1.10", "4:20": "001", "4:25": "null", "4:31": "true", "4:37": "0x1F", "5:13": "~" };
    expect(problems).toEqual(
      Object.entries(places).map(([where, written]) => [where, expect.stringContaining(`"${written}"`)]),
    );
  });
  test("is refused with every problem once", async () => {
    const place = scratch();
    const text = [
      "reqirement: do it",
      "tasks:",
      "  - task_id: a b",
      "    descriptio: A",
      "    dependencies: b",
      "    acceptance_criteria:",
      "      - {text: 1, comand: [x]}",
      "      - 5",
      "      -",
      "    instruction:",
      "      summary: do",
      "      steps:",
      "        - {comand: [x]}",
      "        - {}",
      "    assigned_to: {}",
      "",
    ].join("\n");
    const failure = errorOf(await loadPlanFile(place.write("plan.yaml", text)));
    // The whole screen, as an example of all others.
    expect(`\n${place.plain(failure.message)}\n`).toMatchInlineSnapshot(`
      "
      ~/plan.yaml:1:1: "reqirement" is not a known key; did you mean "requirement"?
        1 | reqirement: do it
          | ^
      ~/plan.yaml:3:14: "task_id" must be at most 64 letters, digits, ".", "_" and "-" that begin with a letter or digit, not "a b"
        3 |   - task_id: a b
          |              ^
      ~/plan.yaml:4:5: "descriptio" is not a known key; did you mean "description"?
        4 |     descriptio: A
          |     ^
      ~/plan.yaml:5:19: "dependencies" must be a list, not a string
        5 |     dependencies: b
          |                   ^
        expected: ["b"]
      ~/plan.yaml:7:16: "text" must be a string, not a number
        7 |       - {text: 1, comand: [x]}
          |                ^
        expected: the text in quotes: "1"
      ~/plan.yaml:7:19: "comand" is not a known key; did you mean "command"?
        7 |       - {text: 1, comand: [x]}
          |                   ^
      ~/plan.yaml:8:9: entry 2 must be a string or an object, not a number
        8 |       - 5
          |         ^
        expected: the text in quotes: "5"
      ~/plan.yaml:9:8: entry 3 must be a string or an object, not null
        9 |       -
          |        ^
      ~/plan.yaml:13:12: "comand" is not a known key; did you mean "command"?
        13 |         - {comand: [x]}
           |            ^
      ~/plan.yaml:14:11: entry 2 must have at least one key of text, command, shell
        14 |         - {}
           |           ^
      and 1 more problem
      "
    `);
    expect(problemsOf(failure)).toHaveLength(10);
    expect(failure.details?.problems).toContainEqual({
      file: join(place.directory, "plan.yaml"),
      pointer: "/reqirement",
      what: expect.stringContaining('"reqirement"') as string,
      line: 1,
      column: 1,
      nearest: "requirement",
    });
  });
  test("that the playbook manager cannot play is refused with every problem", async () => {
    const text =
      "tasks:\n  - task_id: a\n    description: ' '\n    metadata: {playbook: {on_error: panic, onerror: x}}\n" +
      "    instruction: {summary: S, steps: [{shell: x, command: [y]}]}\n";
    const loaded = valueOf(await loadPlanFile(scratch().write("plan.yaml", text)));
    expect(problemsOf((await unplayable(loaded)) as Failure)).toEqual([
      ["3:18", expect.stringContaining("blanks")],
      ["4:37", expect.stringContaining("give_up")],
      ["4:44", expect.stringContaining("on_error")],
      ["5:39", expect.stringContaining("command and shell")],
    ]);
  });
  test.each<[of: string, text: string, where: string, fact: string]>([
    ["no tasks", "summary: x\n", "1:1", '"tasks"'],
    ["a budget in money", "tasks:\n  - {task_id: a, description: A, budget: {usd: 1}}\n", "2:43", "budget.usd"],
  ])("is refused for %s", async (_, text, where, fact) => {
    const failure = errorOf(await loadPlanFile(scratch().write("p.yaml", text)));
    expect(problemsOf(failure)).toEqual([[where, expect.stringContaining(fact)]]);
  });
  test("of 10,000 tasks is loaded in time, and refused in time with its first problem", {
    timeout: 20_000,
  }, async () => {
    const place = scratch();
    const tasks = (more: object) =>
      Array.from({ length: 10_000 }, (_, index) => ({ task_id: `t${index}`, description: "d", ...more }));
    const good = place.write("good.json", JSON.stringify({ tasks: tasks({}) }, null, 2));
    expect(valueOf(await loadPlanFile(good)).plan.tasks).toHaveLength(10_000);
    const bad = place.write(
      "bad.json",
      JSON.stringify({ tasks: tasks({ riks: [], review: "x", acceptance_criteria: [5, { txt: "a" }] }) }, null, 2),
    );
    const { message } = errorOf(await loadPlanFile(bad));
    expect(message.split("\n")[0]).toMatch(/bad\.json:6:7: "riks" .*"risks"\?$/);
    expect(message).not.toContain("more problems");
  });
  test("with 1,000 problems below 200,000 lines is refused in time", { timeout: 20_000 }, async () => {
    const place = scratch();
    const steps = Array.from({ length: 1_000 }, () => ({ comand: ["x"] }));
    const plan = JSON.stringify({ tasks: [{ task_id: "a", description: "d", instruction: { summary: "s", steps } }] });
    const file = place.write("plan.json", `${"\n".repeat(200_000)}${plan}`);
    const { message } = errorOf(await loadPlanFile(file));
    expect(message).toContain("plan.json:200001:");
    expect(message).toContain("and 990 more problems");
  });
  test("with 20,000 problems in one line is refused in time", { timeout: 20_000 }, async () => {
    const place = scratch();
    const tasks = Array.from({ length: 20_000 }, (_, index) => ({
      task_id: `t${index}`,
      description: "d",
      budget: { usd: 1 },
    }));
    const { message } = errorOf(await loadPlanFile(place.write("plan.json", JSON.stringify({ tasks }))));
    expect(message).toContain("plan.json:1:55: ");
    expect(message).toContain("and 19990 more problems");
  });
  const examples = readdirSync(shipped("examples")).filter((name) => name.endsWith(".yaml"));
  test.each(examples)("%s of the examples is valid", async (name) => {
    expect(valueOf(await loadPlanFile(shipped("examples", name))).plan.tasks).not.toEqual([]);
  });
});

describe("an answers file", () => {
  const load = async (name: string, text: string) =>
    valueOf(await loadAnswers(scratch().write(name, text))).map(({ place: _place, ...answer }) => answer);
  test("is a mapping of ids to texts as written", async () => {
    expect(await load("a.yaml", "q1: main\nc2.q1: 1.10\nq3: yes\n7: 007\n")).toEqual([
      { question_id: "7", text: "007" },
      { question_id: "q1", text: "main" },
      { question_id: "c2.q1", text: "1.10" },
      { question_id: "q3", text: "yes" },
    ]);
    expect(await load("a.json", '{\r"q1": 90,\r"q2": true,\r"q3": 1.10\r}')).toEqual([
      { question_id: "q1", text: "90" },
      { question_id: "q2", text: "true" },
      { question_id: "q3", text: "1.10" },
    ]);
  });
  test("is a list of texts by id or by a part of the question", async () => {
    const text = "- question_id: q1\n  text: main\n- match: which branch\n  text: |\n    two\n    lines\n";
    expect(await load("a.yaml", text)).toEqual([
      { question_id: "q1", text: "main" },
      { match: "which branch", text: "two\nlines\n" },
    ]);
  });
  test.each<[text: string, problems: readonly [where: string, fact: string][]]>([
    [
      "- {q: 1, text: x}\n- {text: 5}\n- {match: '', text: y}\n",
      [
        ["1:3", '"question_id" or "match"'],
        ["1:4", '"q"'],
        ["2:3", '"question_id" or "match"'],
        ["3:11", "empty"],
      ],
    ],
    [
      "q1: [a]\nq2: {b: c}\n",
      [
        ["1:5", "not a list"],
        ["2:5", "not an object"],
      ],
    ],
    ["main\n", [["1:1", "an object or a list"]]],
    ['{"q1": null}', [["1:8", "not null"]]],
    [
      "q1: main\nq2:\nq3: ''\n",
      [
        ["2:4", "empty"],
        ["3:5", "empty"],
      ],
    ],
    [
      JSON.stringify(Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`q${index}`, "x"]))),
      [["1:1", "1000"]],
    ],
  ])("is refused at the positions of its problems: %j", async (text, problems) => {
    const file = scratch().write(text.startsWith("{") ? "a.json" : "a.yaml", text);
    expect(problemsOf(errorOf(await loadAnswers(file)))).toEqual(
      problems.map(([where, fact]) => [where, expect.stringContaining(fact)]),
    );
  });
});

describe("--answer", () => {
  test("is an id and a text, which may contain =", () => {
    expect(valueOf(answerFromFlag("q1=a=b"))).toEqual({ question_id: "q1", text: "a=b" });
  });
  test.each([
    ["main", "="],
    ["", "="],
    ["=x", "id"],
    ["q1=", "empty"],
  ])("is refused as %j", (text, fact) => {
    const { code, message, hint } = errorOf(answerFromFlag(text));
    expect([code, hint]).toEqual(["usage", expect.stringContaining("--answer q1=yes")]);
    expect(message).toContain(`--answer ${JSON.stringify(text)}`);
    expect(message).toContain(fact);
  });
});

describe("the answer to a question", () => {
  const question = { ask_id: "c2", question_id: "c2.q1", text: "On which branch shall I work?" };
  test.each([
    [
      "by its whole id before its bare one",
      [
        { question_id: "q1", text: "bare" },
        { question_id: "c2.q1", text: "whole" },
      ],
      "whole",
    ],
    [
      "by its bare id before its text",
      [
        { match: "branch", text: "match" },
        { question_id: "q1", text: "bare" },
      ],
      "bare",
    ],
    ["by a part of its text, in any case", [{ match: "WHICH Branch", text: "match" }], "match"],
    [
      "the last of several",
      [
        { question_id: "q1", text: "one" },
        { question_id: "q1", text: "two" },
      ],
      "two",
    ],
    [
      "not for another question",
      [
        { question_id: "c1.q1", text: "x" },
        { question_id: "c2", text: "x" },
        { match: "tag", text: "x" },
      ],
      undefined,
    ],
  ])("is found %s", (_, answers, text) => {
    expect(givenAnswer(answers, question)).toEqual(text === undefined ? undefined : { ok: true, value: text });
  });
  test.each<[what: string, question: Answerable, bare: string]>([
    ["the second turn of a step", { ask_id: "t12.2", question_id: "t12.2.again", text: "Again?" }, "again"],
    ["a question whose own id has a dot", { ask_id: "c1", question_id: "c1.q.1", text: "Which?" }, "q.1"],
  ])("is found by the bare id of %s", (_, asked, bare) => {
    expect(givenAnswer([{ question_id: bare, text: "repeat" }], asked)).toEqual({ ok: true, value: "repeat" });
  });
  const sizes = { ask_id: "c1", question_id: "c1.q", text: "How many?", options: ["2", "4", "eight"] };
  test.each<[name: string, question: Answerable, words: string, answer: string | undefined]>([
    ["the option with this number", sizes, "3", "eight"],
    ["the option of this text before the one with this number", sizes, "2", "2"],
    ["nothing when no option has this number", sizes, "9", undefined],
    ["nothing when it is 0", sizes, "0", undefined],
    ["nothing when it is negative", sizes, "-1", undefined],
    ["nothing when it is a fraction", sizes, "1.5", undefined],
    ["nothing when it has a sign", sizes, "+1", undefined],
    ["the default of this text", { ...sizes, default: "9" }, "9", "9"],
    ["itself when there are no options", { ask_id: "c1", question_id: "c1.q", text: "How old?" }, "2", "2"],
    ["itself when the list of options is empty", { ...sizes, options: [] }, "2", "2"],
    ["itself when every option is a number", { ...sizes, options: ["-2", "4", "8.5"] }, "3", "3"],
    ["itself when more words follow", sizes, "3 or so", "3 or so"],
  ])("that is a number means %s", (_, asked, words, answer) => {
    const meant = answerTo(asked, words);
    expect(meant.ok ? meant.value : undefined).toBe(answer);
    expect(givenAnswer([{ question_id: "q", text: words }], asked)).toEqual(meant);
  });
});

const fileText = (file: string) => readText(file, MAX_REQUIREMENT_BYTES);
const input = (bytes: Uint8Array) => readText({ path: "-", bytes }, MAX_REQUIREMENT_BYTES);
const RUN: AskedOf = { command: "run", noun: "requirement", say: "Say what you want done" };

describe("a requirement", () => {
  test("is trimmed, and comes from words, a file or standard input", () => {
    const place = scratch();
    expect(valueOf(checkedRequirement(ok(" find it \n"), RUN))).toBe("find it");
    expect(valueOf(checkedRequirement(fileText(place.write("r.md", "\ufeff# Find\r\nit\r\n")), RUN))).toBe(
      "# Find\r\nit",
    );
    expect(valueOf(checkedRequirement(input(Buffer.from("找到它")), RUN))).toBe("找到它");
    const most = "😀".repeat(MAX_REQUIREMENT_CHARACTERS);
    expect(valueOf(checkedRequirement(input(Buffer.from(most)), RUN))).toBe(most);
    expect(errorOf(checkedRequirement(ok(`${most}x`), RUN)).message).toContain("200,001 characters");
  });
  test.each<[of: string, read: (place: Scratch) => Result<string, Problem>, facts: RegExp]>([
    ["no words", () => ok("\n \t"), /empty.*bosun run --file FILE/s],
    [
      "a missing file",
      (place) => fileText(`${place.write("empty.md", "")}x`),
      /empty\.mdx: there is no such file.*"empty\.md"/,
    ],
    ["a directory", (place) => fileText(place.directory), /directory/],
    ["another encoding", () => input(Buffer.from([0x66, 0xfc, 0x72])), /standard input:1:2: .*UTF-8/],
    ["binary data", () => input(Buffer.from([0x50, 0x4b, 3, 4, 0])), /byte 5/],
    ["a character too many", () => ok("x".repeat(200_001)), /200,001.*200,000.*file of the workspace/s],
    // The reader of standard input stops at the limit, which may be inside a character.
    ["too many bytes", () => input(Buffer.alloc(MAX_REQUIREMENT_BYTES + 1, "€")), /standard input: .*800,000 bytes/s],
  ])("is refused for %s", (_, read, facts) => {
    const { code, message, hint = "" } = errorOf(checkedRequirement(read(scratch()), RUN));
    expect([code, `${message}\n${hint}`]).toEqual(["usage", expect.stringMatching(facts)]);
  });
  test("that is empty is refused with the name of its file", () => {
    expect(errorOf(checkedRequirement(ok(" "), RUN, "empty.md"))).toMatchObject({
      code: "usage",
      message: expect.stringContaining("empty.md is empty"),
    });
  });
});
