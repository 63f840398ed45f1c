import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDocumentText } from "../../src/config/document.ts";
import { explain } from "../../src/config/problem.ts";
import { errorOf, valueOf } from "./scratch.ts";

function told(file: string, text: string): string {
  return `\n${explain(errorOf(parseDocumentText(file, text))).join("\n")}\n`;
}

function read(file: string, text: string): unknown {
  return valueOf(parseDocumentText(file, text)).value;
}

describe("the excerpt", () => {
  test("puts the caret under the spot after wide characters and tabs", () => {
    expect(told("plan.yaml", "任务: 测试: x\n")).toMatchInlineSnapshot(`
      "
      plan.yaml:1:5: this text has ": " in it and stands without quotes
        1 | 任务: 测试: x
          |       ^
        expected: quotes around the whole text
      "
    `);
    expect(told("roles.json", '{\n\t"a":\t01\n}')).toMatchInlineSnapshot(`
      "
      roles.json:2:7: this is not a JSON value
        2 |  "a": 01
          |       ^
        expected: a text in double quotes, a number, true, false, null, [ ] or { }
      "
    `);
  });
  test("cuts a long line around the spot", () => {
    expect(
      told("roles.json", `{"a": "${"x".repeat(300)}", "b": tru, "c": "${"y".repeat(300)}"}`),
    ).toMatchInlineSnapshot(`
      "
      roles.json:1:316: the word tru stands here without quotes; did you mean "true"?
        1 | … xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "b": tru, "c": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy …
          |                                                    ^
        expected: double quotes around texts and keys
      "
    `);
  });
  test("lets no control or reordering character of the file through to the terminal", () => {
    const shown = told("\u001b[31mroles.json", '{"a\u009b2J\u202e": 1, "\u200b\u061c\u00ad\u3164\u{e0041}": tru}');
    expect(shown.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
    expect(shown).toContain("\ufffd");
  });
  test("shows emoji as they are", () => {
    expect(told("a.json", '{"👩‍👧": tru}')).toContain('1 | {"👩‍👧": tru}\n    |        ^\n');
  });
  test("counts lines the same for LF, CR LF and CR", () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const problem = errorOf(parseDocumentText("a.json", `{${end}"a": 1,${end}"b": tru${end}}`));
      expect(problem.place).toEqual({ line: 3, column: 6, source: '"b": tru' });
    }
  });
});

describe("right files", () => {
  test("YAML 1.2 is data as it is written: no is a text, 010 is ten, a date is a text, << is a key", () => {
    expect(read("a.yaml", "a: no\nb: 010\nc: 2024-01-01\nd: {<<: 1}\n1: x\ne: 0x1F\nf: ~\n")).toEqual({
      a: "no",
      b: 10,
      c: "2024-01-01",
      d: { "<<": 1 },
      1: "x",
      e: 31,
      f: null,
    });
  });
  test("in texts, every value stays what was written", () => {
    const written = "a: 1.10\nb: yes\nc: 007\nd: ~\ne:\nf: 'x'\n";
    expect(valueOf(parseDocumentText("a.yaml", written, "texts")).value).toEqual({
      a: "1.10",
      b: "yes",
      c: "007",
      d: "~",
      e: "",
      f: "x",
    });
    expect(valueOf(parseDocumentText("a.json", '{"a": 1.10}', "texts")).value).toEqual({ a: "1.10" });
  });
  test("anchors and aliases stand for the same value", () => {
    expect(read("a.yaml", "a: &x {b: [1]}\nc: *x\n")).toEqual({ a: { b: [1] }, c: { b: [1] } });
  });
  test("a BOM, CR LF and tabs between tokens do no harm", () => {
    expect(read("a.yaml", "a:\t1\r\nb:\r\n  - 2\r\n")).toEqual({ a: 1, b: [2] });
    expect(read("a.json", '{\r\n\t"a": [1,\r\n\t2]\r\n}\r\n')).toEqual({ a: [1, 2] });
  });
  test("a top-level $schema is for editors and is dropped; elsewhere it is a key like others", () => {
    expect(read("a.json", '{"$schema": "x", "a": {"$schema": "y"}}')).toEqual({ a: { $schema: "y" } });
  });
  test("64 levels are allowed", () => {
    expect(parseDocumentText("a.json", "[".repeat(64) + "]".repeat(64)).ok).toBe(true);
    expect(parseDocumentText("a.yaml", "[".repeat(64) + "]".repeat(64)).ok).toBe(true);
  });
  test("every JSON value that JSON.stringify writes is read as itself, as JSON and as YAML", () => {
    const values = fc
      .jsonValue({ maxDepth: 5 })
      .filter((value) => value !== null && !JSON.stringify(value).includes("__proto__"));
    fc.assert(
      fc.property(values, fc.constantFrom(0, 2, "\t"), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        fc.pre(text.trim() !== "" && !text.includes("$schema"));
        const expected: unknown = JSON.parse(text);
        expect(read("a.json", text)).toEqual(expected);
        expect(read("a.yaml", text)).toEqual(expected);
      }),
    );
  });
});

describe("a problem found later", () => {
  const text = "roles:\n  - role_id: a\n    env: {X: '1'}\n  - &b\n    role_id: b\n  - *b\n";
  const { problem } = valueOf(parseDocumentText("roles.yaml", text));
  const at = (pointer: string, which: "key" | "value" = "value") => {
    const { place } = problem(pointer, "x", { at: which });
    return [place?.line, place?.column];
  };
  test("is placed at its value or at its key", () => {
    expect(at("/roles/0/env/X")).toEqual([3, 14]);
    expect(at("/roles/0/env/X", "key")).toEqual([3, 11]);
  });
  test("is placed at what should hold it when it is not there", () => {
    expect(at("/roles/0/type")).toEqual([2, 5]);
    expect(at("/nothing/at/all")).toEqual([1, 1]);
  });
  test("is placed at the alias when an alias brought it in", () => {
    expect(at("/roles/2/role_id")).toEqual([6, 5]);
  });
});
