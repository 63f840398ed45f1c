import { describe, expect, test } from "vitest";
import { parseDocumentText } from "../../src/config/document.ts";
import { explain } from "../../src/config/problem.ts";
import { errorOf } from "./scratch.ts";

function told(file: string, text: string): string {
  return `\n${explain(errorOf(parseDocumentText(file, text))).join("\n")}\n`;
}

describe("wrong YAML is shown in the same way", () => {
  test("a key twice", () => {
    expect(told("plan.yaml", "tasks: []\nsummary: x\ntasks: []\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:3:1: the key "tasks" stands twice here
        3 | tasks: []
          | ^
      "
    `);
  });
  test("a key twice deep inside a flow mapping", () => {
    expect(told("plan.yaml", "a:\n  - {b: 1, c: 2, b: 3}\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:2:18: the key "b" stands twice here
        2 |   - {b: 1, c: 2, b: 3}
          |                  ^
      "
    `);
  });
  test("a tab as indentation", () => {
    expect(told("plan.yaml", "tasks:\n\t- task_id: a\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:2:1: a tab is used to indent
        2 |  - task_id: a
          | ^
        expected: blanks: YAML allows no tabs there
      "
    `);
  });
  test("a wrong indentation", () => {
    expect(told("plan.yaml", "tasks:\n  - a\n   - b\n  summary: x\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:4:1: all mapping items must start at the same column
        4 |   summary: x
          | ^
        expected: entries of one list or mapping indented alike
      "
    `);
  });
  test("a list that is not closed", () => {
    expect(told("plan.yaml", "command: [node, --test\nsummary: x\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:2:1: a [ or { before this is not closed, or this is not indented deeper than its key
        2 | summary: x
          | ^
        expected: ] or }
      "
    `);
  });
  test("a quotation that is not closed", () => {
    expect(told("plan.yaml", 'summary: "all of it\ntasks: []\n')).toMatchInlineSnapshot(`
      "
      plan.yaml:1:10: this text is never closed
        1 | summary: "all of it
          |          ^
        expected: the closing quote
      "
    `);
  });
  test("a colon in a plain text", () => {
    expect(told("plan.yaml", "summary: note: mind the colon\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:10: this text has ": " in it and stands without quotes
        1 | summary: note: mind the colon
          |          ^
        expected: quotes around the whole text
      "
    `);
  });
  test("a custom tag", () => {
    expect(told("plan.yaml", "run: !!js/function 'function () {}'\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:6: the tag !!js/function is not allowed
        1 | run: !!js/function 'function () {}'
          |      ^
        expected: plain data without ! tags
      "
    `);
  });
  test("a second document", () => {
    expect(told("plan.yaml", "a: 1\n---\nb: 2\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:2:1: a second document begins here ("---")
        2 | ---
          | ^
        expected: one document in a file
      "
    `);
  });
  test("a mapping as a key", () => {
    expect(told("plan.yaml", "? {a: 1}\n: 2\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:3: this key is not a text
        1 | ? {a: 1}
          |   ^
        expected: a plain or quoted text
      "
    `);
  });
  test("an alias for nothing", () => {
    expect(told("plan.yaml", "a: *base\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:4: the alias *base stands for nothing before it
        1 | a: *base
          |    ^
      "
    `);
  });
  test("an alias inside its own anchor", () => {
    expect(told("plan.yaml", "a: &self [1, *self]\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:14: the alias *self stands for nothing before it
        1 | a: &self [1, *self]
          |              ^
      "
    `);
  });
  test("infinity", () => {
    expect(told("plan.yaml", "timeout_s: .inf\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:12: Infinity is not a number that can be kept
        1 | timeout_s: .inf
          |            ^
        expected: a finite number, or quotes around it
      "
    `);
  });
  test("the key __proto__", () => {
    expect(told("plan.yaml", "__proto__: {polluted: true}\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:1: the key "__proto__" is not allowed
        1 | __proto__: {polluted: true}
          | ^
      "
    `);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
  test("65 levels", () => {
    expect(told("plan.yaml", `${"- ".repeat(65)}x`)).toMatchInlineSnapshot(`
      "
      plan.yaml:1:131: it is nested too deep
        1 | …  - - - - - - - - - - - - - - - - - - - - - - - - x
          |                                                    ^
        expected: at most 64 levels
      "
    `);
  });
  test("nothing but comments", () => {
    expect(told("plan.yaml", "# later\n")).toMatchInlineSnapshot(`
      "
      plan.yaml: it holds no value
        expected: YAML or JSON
      "
    `);
  });
  test("nothing but blanks", () => {
    expect(told("plan.yaml", " \n\t\n")).toMatchInlineSnapshot(`
      "
      plan.yaml: it is empty
        expected: YAML or JSON
      "
    `);
  });
});
