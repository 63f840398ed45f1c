import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDocumentText } from "../../src/config/document.ts";
import { explain } from "../../src/config/problem.ts";
import { errorOf, valueOf } from "./scratch.ts";

describe("hostile files", () => {
  test("a billion laughs are refused", () => {
    const lines = ['a: &a ["lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol"]'];
    for (const [index, name] of "bcdefghi".split("").entries()) {
      const before = "abcdefgh".charAt(index);
      lines.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(", ")}]`);
    }
    expect(explain(errorOf(parseDocumentText("plan.yaml", lines.join("\n")))).join("\n")).toMatchInlineSnapshot(`
      "plan.yaml:5:8: its aliases stand for too much
        5 | e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]
          |        ^
        expected: at most 10000 aliased values in a file"
    `);
  });
  test("20,000 anchors with as many aliases end soon", { timeout: 20_000 }, () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `- &a${index} x`);
    const aliases = lines.map((_, index) => `- *a${index}`);
    expect(parseDocumentText("a.yaml", [...lines, ...aliases].join("\n")).ok).toBe(false);
  });
  test("60,000 keys in one mapping end soon", { timeout: 20_000 }, () => {
    const text = Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`).join("\n");
    expect(Object.keys(valueOf(parseDocumentText("a.yaml", text)).value as object)).toHaveLength(60_000);
  });
  test.each([
    ["lists in JSON", "a.json", "[".repeat(200_000)],
    ["mappings in JSON", "a.json", '{"a":'.repeat(200_000)],
    ["lists in YAML", "a.yaml", "[".repeat(100_000)],
    ["mappings in YAML", "a.yaml", "{a: ".repeat(20_000)],
    ["block lists in YAML", "a.yaml", `${"- ".repeat(20_000)}x`],
    [
      "block mappings in YAML",
      "a.yaml",
      Array.from({ length: 2_000 }, (_, index) => `${" ".repeat(index)}a:`).join("\n"),
    ],
  ])("endless %s are refused as too deep", (_, file, text) => {
    expect(errorOf(parseDocumentText(file, text)).what).toBe("it is nested too deep");
  });
  test("a text, a word and a number of 8 MiB are read in one go", () => {
    const long = "x".repeat(8 * 1024 * 1024);
    expect(valueOf(parseDocumentText("a.json", JSON.stringify({ a: long }))).value).toEqual({ a: long });
    expect(parseDocumentText("a.json", `{"a": ${long}}`).ok).toBe(false);
    expect(parseDocumentText("a.json", `[${"1".repeat(8 * 1024 * 1024)}]`).ok).toBe(false);
  });
  test.each([
    [
      "a text",
      "a.json",
      String.raw`{"q1":
  "half \ud800 pair"}`,
      "/q1",
      2,
      3,
    ],
    [
      "a text in YAML",
      "a.yaml",
      String.raw`q1: 1
q2: ["\udc00 half"]`,
      "/q2/0",
      2,
      6,
    ],
    ["a key", "a.json", String.raw`{"b": {"\ud800": 1}}`, "/b/\ufffd", 1, 8],
    ["a key in YAML", "a.yaml", String.raw`"\ud800": 1`, "/\ufffd", 1, 1],
    ["all of it", "a.json", String.raw`"\ud800"`, "", 1, 1],
  ])(
    "half a character that is written as an escape is told in its place: %s",
    (_, file, text, pointer, line, column) => {
      for (const scalars of ["typed", "texts"] as const) {
        const problem = errorOf(parseDocumentText(file, text, scalars));
        expect(problem).toMatchObject({ file, pointer, place: { line, column } });
        expect(explain(problem).join("\n")).toMatch(/: it (holds|has) half a surrogate pair[^]*expected: both halves/);
      }
    },
  );
  test("both halves of a character, written as escapes, are read", () => {
    for (const file of ["a.json", "a.yaml"])
      expect(valueOf(parseDocumentText(file, String.raw`{"a": "\ud83d\ude00"}`)).value).toEqual({ a: "😀" });
  });
  test("a constructor that holds a prototype is refused, as in a line", () => {
    expect(errorOf(parseDocumentText("a.yaml", "a:\n  constructor: {prototype: 1}"))).toMatchObject({
      what: "it is a key that may reach a prototype",
      place: { line: 2, column: 3 },
    });
  });
  test("no text makes a reader throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.constantFrom("a.json", "a.yaml"), (text, file) => {
        const result = parseDocumentText(file, text);
        const lines = result.ok ? ["right"] : explain(result.error);
        expect(lines.join("\n")).not.toBe("");
      }),
    );
  });
});
