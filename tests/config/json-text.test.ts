import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDocumentText } from "../../src/config/document.ts";
import { explain } from "../../src/config/problem.ts";
import { errorOf } from "./scratch.ts";

function told(file: string, text: string): string {
  return `\n${explain(errorOf(parseDocumentText(file, text))).join("\n")}\n`;
}

describe("wrong JSON is shown with its place, what is wrong and what was expected", () => {
  test("a comma after the last entry", () => {
    expect(told("roles.json", '{\n  "roles": [],\n}')).toMatchInlineSnapshot(`
      "
      roles.json:2:14: JSON has no comma after the last entry
        2 |   "roles": [],
          |              ^
        expected: "}" without a comma before it
      "
    `);
  });
  test("a missing comma", () => {
    expect(told("roles.json", '{\n  "a": 1\n  "b": 2\n}')).toMatchInlineSnapshot(`
      "
      roles.json:3:3: a comma is missing before this
        3 |   "b": 2
          |   ^
        expected: "," or "}"
      "
    `);
  });
  test("a missing colon", () => {
    expect(told("roles.json", '{"a" 1}')).toMatchInlineSnapshot(`
      "
      roles.json:1:6: a colon is missing after the key "a"
        1 | {"a" 1}
          |      ^
        expected: ":"
      "
    `);
  });
  test("a comment", () => {
    expect(told("roles.json", '{\n  // the crew\n  "a": 1\n}')).toMatchInlineSnapshot(`
      "
      roles.json:2:3: JSON has no comments
        2 |   // the crew
          |   ^
        expected: the file without them, or a .yaml file, where # begins a comment
      "
    `);
  });
  test("a comment after an entry", () => {
    expect(told("roles.json", '{"a": 1 /* one */}')).toMatchInlineSnapshot(`
      "
      roles.json:1:9: JSON has no comments
        1 | {"a": 1 /* one */}
          |         ^
        expected: the file without them, or a .yaml file, where # begins a comment
      "
    `);
  });
  test("single quotes", () => {
    expect(told("roles.json", "{'a': 1}")).toMatchInlineSnapshot(`
      "
      roles.json:1:2: JSON has no single quotes
        1 | {'a': 1}
          |  ^
        expected: double quotes
      "
    `);
  });
  test("a key without quotes", () => {
    expect(told("roles.json", "{a: 1}")).toMatchInlineSnapshot(`
      "
      roles.json:1:2: the word a stands here without quotes
        1 | {a: 1}
          |  ^
        expected: double quotes around texts and keys
      "
    `);
  });
  test("a literal in the wrong case", () => {
    expect(told("roles.json", '{"a": True}')).toMatchInlineSnapshot(`
      "
      roles.json:1:7: the word True stands here without quotes; did you mean "true"?
        1 | {"a": True}
          |       ^
        expected: double quotes around texts and keys
      "
    `);
  });
  test("something never closed names the beginning", () => {
    expect(told("roles.json", '{\n  "roles": [\n    {"a": 1}\n')).toMatchInlineSnapshot(`
      "
      roles.json:2:12: the "[" here is never closed
        2 |   "roles": [
          |            ^
        expected: "]" before the end of the file
      "
    `);
  });
  test("a text never closed", () => {
    expect(told("roles.json", '{"a": "b}')).toMatchInlineSnapshot(`
      "
      roles.json:1:7: this text is never closed
        1 | {"a": "b}
          |       ^
        expected: a closing "
      "
    `);
  });
  test("a text over two lines", () => {
    expect(told("roles.json", '{"a": "one\ntwo"}')).toMatchInlineSnapshot(`
      "
      roles.json:1:7: this text is not closed on its line
        1 | {"a": "one
          |       ^
        expected: a closing ", or \\n in place of a line break
      "
    `);
  });
  test("a raw tab in a text", () => {
    expect(told("roles.json", '{"a": "one\ttwo"}')).toMatchInlineSnapshot(`
      "
      roles.json:1:11: there is a raw control character in this text
        1 | {"a": "one two"}
          |           ^
        expected: \\t or \\u00.. in its place
      "
    `);
  });
  test("an unknown escape", () => {
    expect(told("roles.json", '{"path": "C:\\work"}')).toMatchInlineSnapshot(`
      "
      roles.json:1:13: JSON does not know this escape
        1 | {"path": "C:\\work"}
          |             ^
        expected: \\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u with four hexadecimal digits
      "
    `);
  });
  test("a missing value", () => {
    expect(told("roles.json", '{"a": }')).toMatchInlineSnapshot(`
      "
      roles.json:1:7: this is not a JSON value
        1 | {"a": }
          |       ^
        expected: a text in double quotes, a number, true, false, null, [ ] or { }
      "
    `);
  });
  test("two values", () => {
    expect(told("roles.json", "{}\n{}")).toMatchInlineSnapshot(`
      "
      roles.json:2:1: there is something after the end of the value
        2 | {}
          | ^
      "
    `);
  });
  test("a number beyond all bounds", () => {
    expect(told("roles.json", "[1e999]")).toMatchInlineSnapshot(`
      "
      roles.json:1:2: this number is too large
        1 | [1e999]
          |  ^
        expected: a number below 1.8e308
      "
    `);
  });
  test("a key twice, even if it is written with an escape", () => {
    expect(told("roles.json", '{"a": 1, "\\u0061": 2}')).toMatchInlineSnapshot(`
      "
      roles.json:1:10: the key "a" stands twice here
        1 | {"a": 1, "\\u0061": 2}
          |          ^
      "
    `);
  });
  test("the key __proto__", () => {
    expect(told("roles.json", '{"a": {"__proto__": {"x": 1}}}')).toMatchInlineSnapshot(`
      "
      roles.json:1:8: the key "__proto__" is not allowed
        1 | {"a": {"__proto__": {"x": 1}}}
          |        ^
      "
    `);
  });
  test("65 levels", () => {
    expect(told("roles.json", "[".repeat(65) + "]".repeat(65))).toMatchInlineSnapshot(`
      "
      roles.json:1:65: it is nested too deep
        1 | [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]] …
          |                                                                 ^
        expected: at most 64 levels
      "
    `);
  });
  test.each([
    "[1.]",
    "[01]",
    "[+1]",
    "[.5]",
    "[-]",
    "[0x10]",
    "[NaN]",
    "[Infinity]",
    "[,1]",
    "[1,,2]",
    "{,}",
    '{"a":1,"b"}',
  ])("%s is no JSON, and both readers agree", (text) => {
    expect(parseDocumentText("a.json", text).ok).toBe(false);
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });
});

describe("the JSON reader", () => {
  test("takes exactly what JSON.parse takes, but for keys twice, depth, __proto__ and infinity", () => {
    const pieces = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"a"',
      '"b"',
      "1",
      "-2.5",
      "e+",
      "01",
      "true",
      "nul",
      " ",
      "\n",
      "'",
      "\\",
      "//",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        fc.pre(text.trim() !== "" && text.trim() !== "null" && !/"a"[^]*"a"|"b"[^]*"b"/.test(text));
        let parsed = true;
        try {
          JSON.parse(text);
        } catch {
          parsed = false;
        }
        expect(parseDocumentText("a.json", text).ok).toBe(parsed);
      }),
      { numRuns: 2_000 },
    );
  });
});
