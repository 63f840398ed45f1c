import * as fc from "fast-check";
import { describe, expect, it, test, vi } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import {
  MAX_DEPTH,
  MAX_LINE_BYTES,
  MAX_MEMBERS,
  MAX_PLAN_MEMBERS,
  membersFor,
  parseFile,
  parseLine,
  firstViolation,
} from "../../src/protocol/limits.ts";
import { computing } from "../computing.ts";

const lone = "\ud800";

function parse(text: string) {
  return parseLine(Buffer.from(text));
}

function nested(levels: number): string {
  return `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
}

describe("a valid line is read", () => {
  test.each([
    ["an empty object", "{}"],
    ["white space around it", ' \t{"a" : 1 }\r\n'],
    ["every kind of value", '{"a":[null,true,false,-0.5e-3,"",{},[]]}'],
    ["every escape", String.raw`{"a":"\"\\\/\b\f\n\r\té\ud83d\ude00"}`],
    ["colons, brackets and quotes inside strings", String.raw`{"a:{[":"}]:,\"{","b\\":"\\"}`],
    ["the line separators U+2028 and U+2029", '{"a":"\u2028\u2029"}'],
    ["text outside the basic plane", '{"🚢":"船长"}'],
    ["the same key in two objects", '{"a":{"k":1},"b":{"k":1},"k":1}'],
    ["the same word as key and value", '{"a":"b","b":"a"}'],
    ["a string as `constructor`", '{"constructor":"text"}'],
    ["an object `constructor` without a prototype", '{"constructor":{"name":"a"}}'],
    ["keys that objects inherit", '{"toString":1,"hasOwnProperty":2}'],
    ["as many levels as allowed", nested(MAX_DEPTH)],
    ["many lists beside each other", `{"a":[${"[{}],".repeat(MAX_DEPTH)}[]]}`],
    ["an empty key", '{"":{"":1}}'],
    ["a byte order mark inside a string", '{"a":"\ufeff"}'],
  ])("%s", (_, text) => {
    expect(parse(text)).toEqual({ ok: true, value: JSON.parse(text) as JsonObject });
  });
});

describe("a line is refused that is not one JSON object in UTF-8", () => {
  test.each([
    ["nothing", "", "json"],
    ["a word", "hello", "json"],
    ["half an object", '{"a":', "json"],
    ["two objects", "{}{}", "json"],
    ["a trailing comma", '{"a":1,}', "json"],
    ["single quotes", "{'a':1}", "json"],
    ["a comment", "{/**/}", "json"],
    ["a bare key", "{a:1}", "json"],
    ["NaN", '{"a":NaN}', "json"],
    ["Infinity", '{"a":-Infinity}', "json"],
    ["a leading zero", '{"a":01}', "json"],
    ["a raw control character", '{"a":"\u0001"}', "json"],
    ["an unknown escape", String.raw`{"a":"\x41"}`, "json"],
    ["unbalanced closing brackets", "]]]]{", "json"],
    ["a byte order mark before it", '\ufeff{"a":1}', "json"],
    ["a list", "[]", "object"],
    ["null", "null", "object"],
    ["a string", '"{}"', "object"],
    ["a number", "1", "object"],
  ])("%s", (_, text, rule) => {
    expect(parse(text)).toEqual({
      ok: false,
      error: { payload_type: "", code: "malformed_output", pointer: "", message: expect.stringContaining(`[${rule}]`) },
    });
  });

  test.each([
    ["a stray continuation byte", [0x80]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["a surrogate written as three bytes", [0xed, 0xa0, 0x80]],
    ["a cut sequence", [0xe2, 0x82]],
    ["a code point past the last", [0xf5, 0x80, 0x80, 0x80]],
    ["Latin-1", [0xe9]],
  ])("%s", (_, bytes) => {
    const line = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(parseLine(line)).toMatchObject({
      ok: false,
      error: { code: "malformed_output", message: expect.stringContaining("[utf8]") },
    });
  });

  test.each(["token-secret", "\u001b[2J-secret", '{"a":1} secret', '{"a" secret}', "{}secret"])(
    "the message repeats nothing secret of %j",
    (text) => {
      const refused = parse(text);
      expect(refused.ok || refused.error.message).toMatch(/^[ -~]+$/);
      expect(refused.ok || refused.error.message).not.toContain("secret");
    },
  );
});

describe("a line is refused that is ambiguous or would harm later code", () => {
  test.each([
    ["a duplicate key", '{"a":1,"a":2}', "", "duplicate_key", '"a"'],
    ["a duplicate key, deep inside", '{"x":[{"y":{"k":1,"z":{},"k":1}}]}', "", "duplicate_key", '"k"'],
    [
      "a duplicate key, escaped",
      String.raw`{"payload_type":1,"p\u0061yload_type":2}`,
      "",
      "duplicate_key",
      "payload_type",
    ],
    ["a duplicate key that contains a quote", String.raw`{"\"":1,"\u0022":2}`, "", "duplicate_key", String.raw`"\""`],
    ["`__proto__`", '{"a":{"__proto__":{}}}', "/a/__proto__", "prototype", "__proto__"],
    ["`__proto__` escaped", String.raw`{"\u005f_proto__":1}`, "/__proto__", "prototype", "__proto__"],
    ["`__proto__` in a list", '{"a":[{},{"__proto__":1}]}', "/a/1/__proto__", "prototype", "__proto__"],
    ["`constructor.prototype`", '{"constructor":{"prototype":{}}}', "/constructor", "prototype", "constructor"],
    ["a number too large", '{"a":[0,1e999]}', "/a/1", "finite", "/a/1"],
    ["a negative number too large", '{"a":-1e999}', "/a", "finite", "/a"],
    ["half a surrogate pair", String.raw`{"a":"\ud800"}`, "/a", "well_formed", "/a"],
    [
      "a surrogate pair in the wrong order",
      String.raw`{"a":{"b":["\udc00\ud800"]}}`,
      "/a/b/0",
      "well_formed",
      "/a/b/0",
    ],
    ["half a surrogate pair in a key", String.raw`{"\udfff":1}`, "/\ufffd", "well_formed", "key"],
    ["a pointer that needs escapes", '{"a/b~c":1e999}', "/a~1b~0c", "finite", "/a~1b~0c"],
  ])("%s", (_, text, pointer, rule, named) => {
    const refused = parse(text);
    expect(refused).toEqual({
      ok: false,
      error: { payload_type: "", code: "malformed_output", pointer, message: expect.stringContaining(`[${rule}]`) },
    });
    expect(refused.ok || refused.error.message).toContain(named);
  });

  test.each([MAX_DEPTH + 1, 5_000, 100_000])("%i levels", (levels) => {
    expect(parse(nested(levels))).toMatchObject({
      ok: false,
      error: { code: "malformed_output", message: expect.stringMatching(new RegExp(`${levels} levels.*\\[depth\\]`)) },
    });
  });

  it("checks the size first", () => {
    const line = Buffer.alloc(MAX_LINE_BYTES + 1, 0xff);
    expect(parseLine(line)).toMatchObject({
      ok: false,
      error: { code: "output_limit", message: expect.stringContaining(`${MAX_LINE_BYTES + 1} bytes`) },
    });
  });

  it("reads a line of exactly the allowed size", () => {
    const line = Buffer.from(`{"a":"${"x".repeat(MAX_LINE_BYTES - 8)}"}`);
    expect(line.length).toBe(MAX_LINE_BYTES);
    expect(parseLine(line).ok).toBe(true);
  });
});

describe("the members of a line", () => {
  /** A list in an object, with so many entries. */
  const listed = (count: number, entry = "1") => `{"a":[${Array<string>(count).fill(entry).join(",")}]}`;

  test.each([
    ["keys", `{${Array.from({ length: MAX_MEMBERS }, (_, index) => `"${index}":1`).join(",")}}`],
    ["entries of a list", listed(MAX_MEMBERS - 1)],
    ["keys in a list", listed((MAX_MEMBERS - 2) / 2, '{"k":1}')],
    ["empty lists, which count twice", listed((MAX_MEMBERS - 2) / 2, "[]")],
    ["commas and brackets in texts, which do not count", `{"a":"${"[,{".repeat(MAX_MEMBERS)}"}`],
  ])("are read up to the limit: %s", (_, text) => {
    expect(parse(text)).toMatchObject({ ok: true });
  });

  test.each([
    ["keys", `{${Array.from({ length: 300_000 }, (_, index) => `"${index}":1`).join(",")}}`],
    ["entries of a list", listed(MAX_MEMBERS)],
    ["objects with a key", listed(MAX_MEMBERS / 2, '{"k":1}')],
    ["lists in lists", listed(MAX_MEMBERS, "[[]]")],
    ["what is not JSON", `{${",".repeat(MAX_MEMBERS)}`],
  ])("over the limit are refused before anything is parsed: %s", (_, text) => {
    const bytes = Buffer.from(text);
    const parsing = vi.spyOn(JSON, "parse");
    const decoding = vi.spyOn(TextDecoder.prototype, "decode");
    const refused = parseLine(bytes);
    const calls = [parsing.mock.calls.length, decoding.mock.calls.length];
    vi.restoreAllMocks();
    expect(calls).toEqual([0, 0]);
    expect(refused).toMatchObject({
      ok: false,
      error: {
        code: "output_limit",
        message: expect.stringMatching(new RegExp(`${MAX_MEMBERS} are read.*\\[members\\]`)) as string,
      },
    });
  });

  it("are counted in a file in the same way", () => {
    const file = Buffer.from(listed(9));
    expect(parseFile(file, MAX_DEPTH, 10).ok).toBe(true);
    expect(parseFile(file, MAX_DEPTH, 9)).toMatchObject({ ok: false, error: { code: "output_limit" } });
    expect(parseFile(Buffer.from(listed(MAX_PLAN_MEMBERS + 1)), MAX_DEPTH).ok).toBe(true);
  });

  it("may be as many as a plan of the largest size has, where a plan answers", () => {
    const tasks = Array.from(
      { length: 100_000 },
      (_, n) => `{"task_id":"t${n}","description":"Do","dependencies":["t${n}","t${n}"]}`,
    );
    const line = Buffer.from(`{"payload":{"tasks":[${tasks.join(",")}]}}`);
    expect(line.length).toBeLessThan(MAX_LINE_BYTES);
    expect(parseLine(line, membersFor(["plan", "clarification"])).ok).toBe(true);
    expect(parseLine(line, membersFor(["report"]))).toMatchObject({ ok: false, error: { code: "output_limit" } });
    const keys = Buffer.from(listed(MAX_PLAN_MEMBERS));
    expect(parseLine(keys, membersFor(["plan"]))).toMatchObject({ ok: false, error: { code: "output_limit" } });
  });
});

describe("any bytes", () => {
  it("are read or refused with a message", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400, size: "max" }), (bytes) => {
        const read = parseLine(bytes);
        expect(read.ok || read.error.message).not.toBe("");
      }),
      { numRuns: 2_000 },
    );
  });

  it("that are nearly JSON are read like JSON.parse or refused", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"',
      "\\",
      "a",
      "\\u0061",
      "1e999",
      "null",
      "__proto__",
      lone,
      " ",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40, size: "max" }), (pieces) => {
        const text = pieces.join("");
        const read = parse(text);
        expect(read.ok ? read.value : "refused").toEqual(read.ok ? (JSON.parse(text) as JsonObject) : "refused");
      }),
      { numRuns: 5_000 },
    );
  });

  it("of valid JSON are read, without keys of a prototype", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ stringUnit: "grapheme" })),
        (object) => {
          const text = JSON.stringify(object);
          const read = parse(text);
          if (text.includes("__proto__") || text.includes("constructor")) return true;
          expect(read).toEqual({ ok: true, value: JSON.parse(text) as JsonObject });
          return true;
        },
      ),
    );
  });

  it("with a duplicate key anywhere are refused", () => {
    const inner = fc.jsonValue({ maxDepth: 3, stringUnit: "grapheme" });
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), inner, inner, fc.nat(20), (key, first, second, levels) => {
        const name = JSON.stringify(key);
        const twice = `{${name}:${JSON.stringify(first)},"-":0,${name}:${JSON.stringify(second)}}`;
        expect(parse(`{"in":${"[".repeat(levels)}${twice}${"]".repeat(levels)}}`).ok).toBe(false);
      }),
    );
  });

  test.each([
    ["one long string", `{"a":"${"a".repeat(4_000_000)}"}`],
    ["one long run of backslashes", `{"a":"${"\\\\".repeat(2_000_000)}"}`],
    ["many keys", `{${Array.from({ length: MAX_MEMBERS }, (_, index) => `"${index}":1`).join(",")}}`],
    [
      "many keys and a duplicate",
      `{${Array.from({ length: MAX_MEMBERS - 1 }, (_, index) => `"${index}":1`).join(",")},"7":1}`,
    ],
    ["many brackets", `{"a":[${"[],".repeat(500_000)}[]]}`],
    ["many unclosed brackets", "[".repeat(4_000_000)],
    ["many quotes", '"'.repeat(4_000_000)],
  ])("take time in proportion to their number: %s", (_, text) => {
    const line = Buffer.from(text);
    // A few hundred milliseconds at worst on a slow machine; anything quadratic takes hours.
    expect(computing(() => parseLine(line))).toBeLessThan(8_000);
  });
});

test("a value that did not come as a line is checked by the same rules", () => {
  expect(firstViolation(JSON.parse('{"a":[1,{"__proto__":2}]}'))).toMatchObject({
    pointer: "/a/1/__proto__",
    at: "key",
    rule: "prototype",
  });
  expect(firstViolation({ a: ["b", lone] })).toMatchObject({ pointer: "/a/1", at: "value", rule: "well_formed" });
  expect(firstViolation(JSON.parse(nested(MAX_DEPTH)))).toBeUndefined();
  const unfit = firstViolation(JSON.parse(nested(MAX_DEPTH + 1)));
  expect(unfit).toMatchObject({ rule: "depth", at: "value" });
  expect(unfit?.pointer.split("/")).toHaveLength(MAX_DEPTH + 1);
});
