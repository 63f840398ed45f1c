import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answerFromFlag, givenAnswer, loadAnswers } from "../../src/config/answers.ts";
import { shipped } from "../../src/config/installation.ts";
import { type Answerable, answerTo } from "../../src/config/picked-option.ts";
import { loadPlanFile } from "../../src/config/plan-file.ts";
import {
  type AskedOf,
  MAX_REQUIREMENT_BYTES,
  MAX_REQUIREMENT_CHARACTERS,
  readRequirement,
} from "../../src/config/requirement.ts";
import { errorOf, scratch, valueOf } from "./scratch.ts";

describe("a plan file", () => {
  test("is loaded with the places of its parts", async () => {
    const place = scratch();
    const file = place.write(
      "plan.yaml",
      "requirement: do it\ntasks:\n  - task_id: a\n    description: A\n  - task_id: b\n    description: B\n    dependencies: [a]\n",
    );
    const { plan, source } = valueOf(await loadPlanFile(file));
    expect(plan.tasks.map(({ task_id }) => task_id)).toEqual(["a", "b"]);
    expect(source.problem("/tasks/1/dependencies/0", "x").place).toMatchObject({ line: 7, column: 20 });
  });
  test("that is wrong is told with every problem, and no more than there are", async () => {
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
    expect(failure.code).toBe("configuration");
    expect(`\n${place.plain(failure.message)}\n`).toMatchInlineSnapshot(`
      "
      ~/plan.yaml:1:1: a plan file has no key "reqirement"; did you mean "requirement"?
        1 | reqirement: do it
          | ^
      ~/plan.yaml:3:14: "a b" is not right here
        3 |   - task_id: a b
          |              ^
        expected: letters, digits, ".", "_" and "-", first a letter or digit, at most 64
      ~/plan.yaml:4:5: a task has no key "descriptio"; did you mean "description"?
        4 |     descriptio: A
          |     ^
      ~/plan.yaml:5:19: "b" is not right here
        5 |     dependencies: b
          |                   ^
        expected: a list, such as ["b"]
      ~/plan.yaml:7:16: 1 is not right here
        7 |       - {text: 1, comand: [x]}
          |                ^
        expected: a text
      ~/plan.yaml:7:19: a criterion has no key "comand"; did you mean "command"?
        7 |       - {text: 1, comand: [x]}
          |                   ^
      ~/plan.yaml:8:9: 5 is not right here
        8 |       - 5
          |         ^
        expected: a text or a mapping (key: value)
      ~/plan.yaml:9:8: an empty value is not right here
        9 |       -
          |        ^
        expected: a text or a mapping (key: value)
      ~/plan.yaml:13:12: a step has no key "comand"; did you mean "command"?
        13 |         - {comand: [x]}
           |            ^
      ~/plan.yaml:14:11: a step needs at least 1 key
        14 |         - {}
           |           ^
        expected: text, command or shell
      and 1 more problem
      "
    `);
    expect(failure.details?.problems).toContainEqual({
      file: join(place.directory, "plan.yaml"),
      pointer: "/reqirement",
      what: 'a plan file has no key "reqirement"',
      line: 1,
      column: 1,
      nearest: "requirement",
    });
  });
  test("without tasks says what a plan file needs", async () => {
    const place = scratch();
    expect(
      place.plain(errorOf(await loadPlanFile(place.write("p.yaml", "summary: x\n"))).message),
    ).toMatchInlineSnapshot(`
      "~/p.yaml:1:1: a plan file needs the key "tasks"
        1 | summary: x
          | ^"
    `);
  });
  test("of 10,000 tasks in JSON is loaded soon; of its 40,000 problems the first is told soon", {
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
    expect(message.split("\n")[0]).toMatch(/bad\.json:6:7: .* has no key "riks"; did you mean "risks"\?$/);
    expect(message).not.toContain("more problems");
  });
  test("with 1,000 problems below a million lines is told the first ten soon", { timeout: 20_000 }, async () => {
    const place = scratch();
    const steps = Array.from({ length: 1_000 }, () => ({ comand: ["x"] }));
    const plan = JSON.stringify({ tasks: [{ task_id: "a", description: "d", instruction: { summary: "s", steps } }] });
    const file = place.write("plan.json", `${"\n".repeat(1_000_000)}${plan}`);
    const { message } = errorOf(await loadPlanFile(file));
    expect(message).toContain("plan.json:1000001:");
    expect(message).toContain("and 990 more problems");
  });
  test("with 100,000 problems in one line is told the first ten soon", { timeout: 20_000 }, async () => {
    const place = scratch();
    const tasks = Array.from({ length: 100_000 }, (_, index) => ({
      task_id: `t${index}`,
      description: "d",
      budget: { usd: 1 },
    }));
    const { message } = errorOf(await loadPlanFile(place.write("plan.json", JSON.stringify({ tasks }))));
    expect(message).toContain("plan.json:1:55: the budget of a task cannot be in money");
    expect(message).toContain("and 99990 more problems");
  });
  const examples = readdirSync(shipped("examples")).filter((name) => name.endsWith(".yaml"));
  test.each(examples)("%s of the examples is right", async (name) => {
    expect(valueOf(await loadPlanFile(shipped("examples", name))).plan.tasks).not.toEqual([]);
  });
});

describe("an answers file", () => {
  const load = async (name: string, text: string) => {
    const place = scratch();
    const result = await loadAnswers(place.write(name, text));
    return result.ok ? result.value : `\n${place.plain(result.error.message)}\n`;
  };
  test("as a mapping gives texts by id, as they are written", async () => {
    expect(await load("a.yaml", "q1: main\nc2.q1: 1.10\nq3: yes\n7: 007\n")).toEqual([
      { question_id: "7", text: "007" },
      { question_id: "q1", text: "main" },
      { question_id: "c2.q1", text: "1.10" },
      { question_id: "q3", text: "yes" },
    ]);
    expect(await load("a.json", '{"q1": 90, "q2": true}')).toEqual([
      { question_id: "q1", text: "90" },
      { question_id: "q2", text: "true" },
    ]);
  });
  test("as a list gives texts by id or by a part of the question", async () => {
    const text = "- question_id: q1\n  text: main\n- match: which branch\n  text: |\n    two\n    lines\n";
    expect(await load("a.yaml", text)).toEqual([
      { question_id: "q1", text: "main" },
      { match: "which branch", text: "two\nlines\n" },
    ]);
  });
  test("that is wrong is told in its place", async () => {
    expect(await load("a.yaml", "- {q: 1, text: x}\n- {text: 5}\n- {match: '', text: y}\n")).toMatchInlineSnapshot(`
      "
      ~/a.yaml:1:3: an answer entry needs the key question_id or match
        1 | - {q: 1, text: x}
          |   ^
      ~/a.yaml:1:4: an answer entry has no key "q"
        1 | - {q: 1, text: x}
          |    ^
        expected: question_id, match or text
      ~/a.yaml:2:3: an answer entry needs the key question_id or match
        2 | - {text: 5}
          |   ^
      ~/a.yaml:3:11: this text is empty
        3 | - {match: '', text: y}
          |           ^
        expected: at least 1 character
      "
    `);
    expect(await load("a.yaml", "q1: [a]\nq2: {b: c}\n")).toMatchInlineSnapshot(`
      "
      ~/a.yaml:1:5: a list is not right here
        1 | q1: [a]
          |     ^
        expected: a text, a number or true or false
      ~/a.yaml:2:5: a mapping is not right here
        2 | q2: {b: c}
          |     ^
        expected: a text, a number or true or false
      "
    `);
    expect(await load("a.yaml", "main\n")).toMatchInlineSnapshot(`
      "
      ~/a.yaml:1:1: "main" is not right here
        1 | main
          | ^
        expected: a mapping (key: value) or a list
      "
    `);
  });
  test("with too many answers is told how many it may have", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`q${index}`, "x"]));
    expect(await load("a.json", JSON.stringify(many))).toContain("has at most 1000 keys");
  });
  test("in JSON has no null, and may have lines that end in CR", async () => {
    expect(await load("a.json", '{"q1": null}')).toContain("an empty value is not right here");
    expect(await load("a.json", '[{"question_id": "q1", "text": null}]')).toContain("an empty value is not right here");
    expect(await load("a.json", '{\r"q1": "null",\r"q2": 1.10\r}')).toEqual([
      { question_id: "q1", text: "null" },
      { question_id: "q2", text: "1.10" },
    ]);
  });
  test("that nobody filled in is told where", async () => {
    expect(await load("a.yaml", "q1: main\nq2:\nq3: ''\n")).toMatchInlineSnapshot(`
      "
      ~/a.yaml:2:4: this answer is empty
        2 | q2:
          |    ^
        expected: an answer; take the entry out to leave the question open
      ~/a.yaml:3:5: this answer is empty
        3 | q3: ''
          |     ^
        expected: an answer; take the entry out to leave the question open
      "
    `);
  });
});

describe("--answer", () => {
  test("is an id and a text, which may hold further equal signs", () => {
    expect(valueOf(answerFromFlag("q1=a=b"))).toEqual({ question_id: "q1", text: "a=b" });
  });
  test("says what is missing", () => {
    expect(["main", "=x", "q1=", ""].map((text) => errorOf(answerFromFlag(text)).message)).toMatchInlineSnapshot(`
      [
        "--answer "main": there is no = in it.",
        "--answer "=x": the question's id is missing.",
        "--answer "q1=": the answer is empty.",
        "--answer "": there is no = in it.",
      ]
    `);
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
      "not another's",
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
    ["the option that it counts", sizes, "3", "eight"],
    ["the option that it is, before the one that it counts", sizes, "2", "2"],
    ["nothing where no option has it", sizes, "9", undefined],
    ["nothing where it counts from 0", sizes, "0", undefined],
    ["nothing where it counts backwards", sizes, "-1", undefined],
    ["nothing where it counts halves", sizes, "1.5", undefined],
    ["nothing where it has a sign", sizes, "+1", undefined],
    ["the default that it is", { ...sizes, default: "9" }, "9", "9"],
    ["itself where there are no options", { ask_id: "c1", question_id: "c1.q", text: "How old?" }, "2", "2"],
    ["itself where there are none in the list", { ...sizes, options: [] }, "2", "2"],
    ["itself where every option is a number", { ...sizes, options: ["-2", "4", "8.5"] }, "3", "3"],
    ["itself as soon as it is more than a number", sizes, "3 or so", "3 or so"],
  ])("that is a number means %s", (_, asked, words, answer) => {
    const meant = answerTo(asked, words);
    expect(meant.ok ? meant.value : undefined).toBe(answer);
    expect(givenAnswer([{ question_id: "q", text: words }], asked)).toEqual(meant);
  });
});

const RUN: AskedOf = { command: "run", noun: "requirement", say: "Say what you want done" };

describe("a requirement", () => {
  test("comes from words, a file or standard input, without the blanks around it", () => {
    const place = scratch();
    expect(valueOf(readRequirement({ words: " find it \n" }, RUN))).toBe("find it");
    expect(valueOf(readRequirement({ file: place.write("r.md", "\ufeff# Find\r\nit\r\n") }, RUN))).toBe("# Find\r\nit");
    expect(valueOf(readRequirement({ standard_input: Buffer.from("找到它") }, RUN))).toBe("找到它");
    const most = "😀".repeat(MAX_REQUIREMENT_CHARACTERS);
    expect(valueOf(readRequirement({ standard_input: Buffer.from(most) }, RUN))).toBe(most);
    expect(errorOf(readRequirement({ words: `${most}x` }, RUN)).message).toContain("200,001 characters");
  });
  test("that is no good is told with what to do", () => {
    const place = scratch();
    const failures = [
      { words: "" },
      { words: "\n \t" },
      { file: place.write("empty.md", "") },
      { file: join(place.directory, "empty.mdx") },
      { file: place.directory },
      { standard_input: Buffer.from([0x66, 0xfc, 0x72]) },
      { standard_input: Buffer.from([0x50, 0x4b, 3, 4, 0]) },
      { words: "x".repeat(MAX_REQUIREMENT_CHARACTERS + 1) },
      // Whoever reads no further may have stopped inside a character.
      { standard_input: Buffer.alloc(MAX_REQUIREMENT_BYTES + 1, "€") },
    ].map((source) => {
      const { code, message, hint } = errorOf(readRequirement(source, RUN));
      expect(code).toBe("usage");
      return place.plain(`${message}${hint === undefined ? "" : `\n=> ${hint}`}`);
    });
    expect(`\n${failures.join("\n\n")}\n`).toMatchInlineSnapshot(`
      "
      The requirement is empty.
      => Say what you want done: bosun run "…", bosun run --file FILE, or bosun run --file - to read it from standard input.

      The requirement is empty.
      => Say what you want done: bosun run "…", bosun run --file FILE, or bosun run --file - to read it from standard input.

      The requirement in ~/empty.md is empty.
      => Say what you want done: bosun run "…", bosun run --file FILE, or bosun run --file - to read it from standard input.

      The requirement cannot be read.
      ~/empty.mdx: there is no such file; did you mean "empty.md"?

      The requirement cannot be read.
      ~: it is a directory
        expected: a file

      The requirement cannot be read.
      standard input:1:2: there is a byte that is not UTF-8
        1 | f�r
          |  ^
        expected: UTF-8 text

      The requirement cannot be read.
      standard input: it is not text: byte 5 is zero
        expected: UTF-8 text

      The requirement has 200,001 characters; at most 200,000 are allowed.
      => Put the long part into a file of the workspace, and name that file in the requirement.

      The requirement on standard input has more characters than can be read; at most 200,000 are allowed.
      => Put the long part into a file of the workspace, and name that file in the requirement.
      "
    `);
  });
});
