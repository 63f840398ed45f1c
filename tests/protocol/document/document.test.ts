import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonFile, parseDocument } from "../../../src/protocol/document/document.ts";
import { explain } from "../../../src/protocol/document/problem.ts";
import { errorOf, valueOf } from "../../config/scratch.ts";

function read(file: string, text: string): unknown {
  return valueOf(parseDocument(file, text)).value;
}

/** Where a text fails, and what is said of it. */
function fault(file: string, text: string): [where: string, said: string] {
  const { position, what, expected = "", nearest = "" } = errorOf(parseDocument(file, text));
  return [position ? `${position.line}:${position.column}` : "", `${what} ${expected} ${nearest}`];
}

describe("a text that cannot be read is refused at a position", () => {
  test.each<[text: string, where: string, fact: string]>([
    ['{\n  "roles": [],\n}', "2:14", "comma"],
    ["[1,]", "1:3", "comma"],
    ['{\n  "a": 1\n  "b": 2\n}', "3:3", "','"],
    ['{"a" 1}', "1:6", "':'"],
    ['{"a":1,"b"}', "1:11", "':'"],
    ['{\n  // the crew\n  "a": 1\n}', "2:3", "comments"],
    ['{"a": 1 /* one */}', "1:9", "comments"],
    ['{\n# one\n"a": 1}', "2:1", "comments"],
    ["{'a': 1}", "1:2", "single quotes"],
    ["{a: 1}", "1:2", "double quotes"],
    ['{"a": True}', "1:7", "true"],
    ['{\n  "roles": [\n    {"a": 1}\n', "2:12", "the [ here is never closed"],
    ['{"a":', "1:1", "the { here is never closed"],
    ['{"a": "b}', "1:7", "never closed"],
    ['{"a": "one\ntwo"}', "1:11", "not closed on its line"],
    ['{"a": "one\ttwo"}', "1:11", "control character"],
    [String.raw`{"path": "C:\work"}`, "1:14", "escape"],
    ['{"a": }', "1:7", "'}'"],
    ['{"a": 1]', "1:8", "'}'"],
    ["{}\n{}", "2:1", "after"],
    ['{\n\t"a":\t01\n}', "2:8", "number"],
    ["[1e999]", "1:2", "number"],
    [String.raw`{"a": 1, "\u0061": 2}`, "1:10", 'the key "a"'],
    ['{"a": {"__proto__": {"x": 1}}}', "1:8", "prototype"],
    ["[".repeat(65) + "]".repeat(65), "1:65", "64 levels"],
  ])("JSON %j", (text, where, fact) => {
    expect(fault("a.json", text)).toEqual([where, expect.stringContaining(fact)]);
  });
  test.each<[text: string, where: string, fact: string]>([
    ["tasks: []\nsummary: x\ntasks: []\n", "3:1", 'the key "tasks"'],
    ["a:\n  - {b: 1, c: 2, b: 3}\n", "2:18", 'the key "b"'],
    ["tasks:\n\t- task_id: a\n", "2:1", "tab"],
    ["tasks:\n  - a\n   - b\n  summary: x\n", "4:1", "same column"],
    ["command: [node, --test\nsummary: x\n", "1:10", "the [ here is never closed"],
    ["a: {b: [1, 2\nc: 3", "1:8", "the [ here is never closed"],
    ['summary: "all of it\ntasks: []\n', "1:10", "never closed"],
    ["summary: note: mind the colon\n", "1:10", "quotes"],
    ["run: !!js/function 'function () {}'\n", "1:6", "tag"],
    ["a: 1\n---\nb: 2\n", "2:1", "---"],
    ["? {a: 1}\n: 2\n", "1:3", "key"],
    ["a: *base\n", "1:4", "&base"],
    ["a: {<<: 5}\n", "1:9", "<<: *anchor"],
    ["a: &a {x: 1}\nb: {<<: *a, <<: *a}\n", "2:13", 'the key "<<"'],
    ["a: &self [1, *self]\n", "1:14", "&self"],
    ["timeout_s: .inf\n", "1:12", "quotes"],
    ["timeout_s: .nan\n", "1:12", "quotes"],
    ["__proto__: {polluted: true}\n", "1:1", "prototype"],
    [`${"- ".repeat(65)}x`, "1:131", "64 levels"],
    ["a:\n  constructor: {prototype: 1}", "2:3", "prototype"],
    ["# later\n", "", "YAML or JSON"],
    [" \n\t\n", "", "YAML or JSON"],
  ])("YAML %j", (text, where, fact) => {
    expect(fault("a.yaml", text)).toEqual([where, expect.stringContaining(fact)]);
  });
  test.each([
    ["a.json", '{"q1":\n  "half \\ud800 pair"}', "/q1", 2, 3],
    ["a.yaml", 'q1: 1\nq2: ["\\udc00 half"]', "/q2/0", 2, 6],
    ["a.json", String.raw`{"b": {"\ud800": 1}}`, "/b/\ufffd", 1, 8],
    ["a.yaml", String.raw`"\ud800": 1`, "/\ufffd", 1, 1],
    ["a.json", String.raw`"\ud800"`, "", 1, 1],
  ])("half a surrogate pair, in %s %j", (file, text, pointer, line, column) => {
    for (const scalars of ["typed", "texts"] as const) {
      const problem = errorOf(parseDocument(file, text, scalars));
      expect(problem).toMatchObject({ file, pointer, position: { line, column } });
      expect(problem.what).toContain("half a surrogate pair");
    }
  });
});

describe("the excerpt", () => {
  const shown = (file: string, text: string) => explain(errorOf(parseDocument(file, text))).join("\n");
  test("has the caret below the position, after wide characters and tabs", () => {
    expect(shown("plan.yaml", "任务: 测试: x\n")).toContain("\n  1 | 任务: 测试: x\n    |       ^\n");
    expect(shown("roles.json", '{\n\t"a":\ttrue\t1\n}')).toContain('\n  2 |  "a": true 1\n    |            ^');
    expect(shown("a.json", '{"👩‍👧": tru}')).toContain('\n  1 | {"👩‍👧": tru}\n    |        ^\n');
  });
  test("shows the part of a long line around the position", () => {
    const [, line = "", caret = ""] = shown(
      "roles.json",
      `{"a": "${"x".repeat(300)}", "b": tru, "c": "${"y".repeat(300)}"}`,
    ).split("\n");
    expect(line).toMatch(/^ {2}1 \| … x+", "b": tru, "c": "y+ …$/);
    expect(line.slice(caret.indexOf("^")).startsWith("tru,")).toBe(true);
    expect(line.length).toBeLessThanOrEqual(80);
  });
  test("lets no control or reordering character of the file through", () => {
    const lines = shown("\u001b[31mroles.json", '{"a\u009b2J\u202e": 1, "\u200b\u061c\u00ad\u3164\u{e0041}": tru}');
    expect(lines.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
    expect(lines).toContain("\ufffd");
  });
  test("counts lines the same for LF, CR LF and CR", () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const problem = errorOf(parseDocument("a.json", `{${end}"a": 1,${end}"b": tru${end}}`));
      expect(problem.position).toEqual({ line: 3, column: 6, source: '"b": tru' });
    }
  });
});

describe("a readable text", () => {
  test("in YAML 1.2 is data as written: no is a string, 010 is ten", () => {
    expect(read("a.yaml", "a: no\nb: 010\nc: 2024-01-01\n1: x\ne: 0x1F\nf: ~\n")).toEqual({
      a: "no",
      b: 10,
      c: "2024-01-01",
      1: "x",
      e: 31,
      f: null,
    });
  });
  test("read as texts keeps every scalar as it was written", () => {
    const texts = (file: string, text: string) => valueOf(parseDocument(file, text, "texts")).value;
    const yaml = "a: 1.10\nb: yes\nc: 007\nd: ~\ne:\nf: 'x'\n";
    expect(texts("a.yaml", yaml)).toEqual({ a: "1.10", b: "yes", c: "007", d: "~", e: "", f: "x" });
    expect(texts("a.json", '{"a": 1.10, "b": true, "c": null}')).toEqual({ a: "1.10", b: "true", c: null });
  });
  test("may have merge keys, whose keys stand behind a mapping's own and before those of later ones", () => {
    const [base, other] = ["&base {a: 1, b: {c: 2}}", "&other {a: 3, d: 4}"];
    for (const text of [`<<: *base\n  a: 0`, `a: 0\n  <<: *base`])
      expect(read("a.yaml", `x: ${base}\ny:\n  ${text}`)).toMatchObject({ y: { a: 0, b: { c: 2 } } });
    expect(read("a.yaml", `- ${base}\n- ${other}\n- {<<: [*base, *other], e: 5}\n`)).toMatchObject({
      2: { a: 1, b: { c: 2 }, d: 4, e: 5 },
    });
    expect(read("a.yaml", "- &a {v: 1}\n- &b {<<: *a, w: 2}\n- {<<: *b}\n- {<<: {u: 0}}\n- {'<<': 1}\n")).toEqual([
      { v: 1 },
      { v: 1, w: 2 },
      { v: 1, w: 2 },
      { u: 0 },
      { "<<": 1 },
    ]);
    expect(read("a.json", '{"<<": {"a": 1}}')).toEqual({ "<<": { a: 1 } });
  });
  test("may have aliases, a BOM, CR LF, tabs, escaped surrogate pairs and 64 levels", () => {
    expect(read("a.yaml", "a: &x {b: [1]}\nc: *x\n")).toEqual({ a: { b: [1] }, c: { b: [1] } });
    expect(read("a.yaml", "a:\t1\r\nb:\r\n  - 2\r\n")).toEqual({ a: 1, b: [2] });
    expect(read("a.json", '{\r\n\t"a": [1,\r\n\t2]\r\n}\r\n')).toEqual({ a: [1, 2] });
    for (const file of ["a.json", "a.yaml"]) {
      expect(read(file, String.raw`{"a": "\ud83d\ude00"}`)).toEqual({ a: "😀" });
      expect(parseDocument(file, "[".repeat(64) + "]".repeat(64)).ok).toBe(true);
    }
  });
  test("loses a top-level $schema, which is for editors", () => {
    expect(read("a.json", '{"$schema": "x", "a": {"$schema": "y"}}')).toEqual({ a: { $schema: "y" } });
  });
  test("of JSON.stringify is the same value as JSON and as YAML", () => {
    const values = fc
      .jsonValue({ maxDepth: 5 })
      .filter((value) => value !== null && !JSON.stringify(value).includes("__proto__"));
    fc.assert(
      fc.property(values, fc.constantFrom(0, 2, "\t"), (value, indent) => {
        const text = JSON.stringify({ at: value }, null, indent);
        const expected: unknown = JSON.parse(text);
        expect(read("a.yaml", text)).toEqual(expected);
        const document = valueOf(parseDocument("a.json", text));
        expect(document.value).toEqual(expected);
        const inYaml = valueOf(parseDocument("a.yaml", text)).position("/at");
        expect(document.position("/at")).toEqual(inYaml);
      }),
    );
  });
  test("by its name: .json, .jsonc and .json5 are strict JSON", () => {
    expect(["a.json", "a.JSON", "a.jsonc", "a.json5", "a.yaml", "a.yml", "json"].map(isJsonFile)).toEqual([
      ...[true, true, true, true],
      ...[false, false, false],
    ]);
  });
  test("as JSON is exactly what JSON.parse takes, without duplicate keys", () => {
    const pieces = ["{", "}", "[", "]", ":", ",", '"a"', '"b"', "1", "-2.5", "e+", "01", "true", "nul", " ", "\n", "'"];
    const piece = fc.constantFrom(...pieces, "\\", "//");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        fc.pre(text.trim() !== "" && text.trim() !== "null" && !/"a"[^]*"a"|"b"[^]*"b"/.test(text));
        let parsed = true;
        try {
          JSON.parse(text);
        } catch {
          parsed = false;
        }
        expect(parseDocument("a.json", text).ok).toBe(parsed);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a finding gets the position of", () => {
  const text = "roles:\n  - role_id: a\n    env: {X: '1'}\n  - &b\n    role_id: b\n  - *b\n";
  test.each<
    [of: string, file: string, text: string, pointer: string, at: "key" | "value", line: number, column: number]
  >([
    ["its value", "a.yaml", text, "/roles/0/env/X", "value", 3, 14],
    ["its key", "a.yaml", text, "/roles/0/env/X", "key", 3, 11],
    ["its parent, if it is missing", "a.yaml", text, "/roles/0/type", "value", 2, 5],
    ["the whole, if nothing of it is there", "a.yaml", text, "/nothing/at/all", "value", 1, 1],
    ["the alias that added it", "a.yaml", text, "/roles/2/role_id", "value", 6, 5],
    ["the merge that added it", "a.yaml", "- &b {x: {y: 1}}\n- z: 2\n  <<: *b", "/1/x/y", "value", 3, 7],
    ["its own key, not the merged one", "a.yaml", "- &b {x: 1}\n- x: 2\n  <<: *b", "/1/x", "value", 2, 6],
    ["its value in JSON", "a.json", '{\n\t"a": [1,\n\t\t{"b~/": 2}]}', "/a/1/b~0~1", "value", 3, 11],
    ["its key in JSON", "a.json", '{\n\t"a": [1,\n\t\t{"b~/": 2}]}', "/a/1/b~0~1", "key", 3, 4],
  ])("%s", (_, file, source, pointer, at, line, column) => {
    const { problem } = valueOf(parseDocument(file, source));
    expect(problem({ pointer, at, what: "x" })).toMatchObject({ file, pointer, position: { line, column } });
  });
});

describe("a hostile text", () => {
  test("of aliases that multiply is refused", () => {
    const lines = ['a: &a ["lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol"]'];
    for (const [index, name] of "bcdefghi".split("").entries()) {
      const before = "abcdefgh".charAt(index);
      lines.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(", ")}]`);
    }
    expect(fault("plan.yaml", lines.join("\n"))).toEqual(["5:8", expect.stringContaining("10000")]);
  });
  test("of merges that multiply or lead in a circle is refused", () => {
    const ten = (name: string) => Array.from({ length: 10 }, () => `*${name}`).join(", ");
    const lines = [
      "- &a {}",
      ..."bcdefghi".split("").map((name, index) => `- &${name} {<<: [${ten("abcdefgh".charAt(index))}]}`),
    ];
    expect(fault("a.yaml", lines.join("\n"))[1]).toContain("10000");
    expect(fault("a.yaml", "- &x {a: 1}\n- &y {<<: *x}\n- &x {<<: *y}\n- {<<: *x}")[1]).toContain("64 levels");
  });
  test("of 20,000 anchors and aliases is refused in time", { timeout: 20_000 }, () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `- &a${index} x`);
    const aliases = lines.map((_, index) => `- *a${index}`);
    expect(parseDocument("a.yaml", [...lines, ...aliases].join("\n")).ok).toBe(false);
  });
  test("of 60,000 keys is read in time", { timeout: 20_000 }, () => {
    const text = Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`).join("\n");
    expect(Object.keys(read("a.yaml", text) as object)).toHaveLength(60_000);
  });
  test("of a mapping of 20,000 keys that merges 20,000 others is read in time", { timeout: 20_000 }, () => {
    const own = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`);
    const merged = Array.from({ length: 20_000 }, (_, index) => `{m${index}: 1}`);
    const text = [...own, `<<: [${merged.join(", ")}]`].join("\n");
    expect(Object.keys(read("a.yaml", text) as object)).toHaveLength(40_000);
  });
  test.each([
    ["lists in JSON", "a.json", "[".repeat(200_000)],
    ["mappings in JSON", "a.json", '{"a":'.repeat(200_000)],
    ["lists in YAML", "a.yaml", "[".repeat(100_000)],
    ["mappings in YAML", "a.yaml", "{a: ".repeat(20_000)],
    ["block lists in YAML", "a.yaml", `${"- ".repeat(20_000)}x`],
    ["block mappings", "a.yaml", Array.from({ length: 2_000 }, (_, index) => `${" ".repeat(index)}a:`).join("\n")],
  ])("of endless %s is refused as too deep", (_, file, text) => {
    expect(fault(file, text)[1]).toContain("64 levels");
  });
  test("of one string, word or number of 8 MiB is read or refused in time", { timeout: 20_000 }, () => {
    const long = "x".repeat(8 * 1024 * 1024);
    expect(read("a.json", JSON.stringify({ a: long }))).toEqual({ a: long });
    expect(parseDocument("a.json", `{"a": ${long}}`).ok).toBe(false);
    expect(parseDocument("a.json", `[${"1".repeat(8 * 1024 * 1024)}]`).ok).toBe(false);
  });
  test("never makes the reader throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.constantFrom("a.json", "a.yaml"), (text, file) => {
        const result = parseDocument(file, text);
        expect(result.ok || explain(result.error).join("\n") !== "").toBe(true);
      }),
    );
  });
});
