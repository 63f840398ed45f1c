import { spawnSync } from "node:child_process";
import { join } from "node:path";
import canonicalize from "canonicalize";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/lib/canonical.ts";

describe("canonical JSON", () => {
  test("matches the example of RFC 8785", () => {
    // RFC 8785, section 3.2.2 and 3.2.3: numbers, escapes and the order of keys.
    const value = {
      // oxlint-disable-next-line no-loss-of-precision -- the RFC's own number
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test("orders keys by UTF-16 code units, including numeric keys", () => {
    const value = {
      "\u20ac": 1,
      "\r": 2,
      "\ufb33": 3,
      "1": 4,
      "10": 5,
      "9": 6,
      "\ud83d\ude00": 7,
      "\u0080": 8,
      "\u00f6": 9,
    };
    expect(Object.keys(JSON.parse(canonicalJson(value)) as object).length).toBe(9);
    expect(canonicalJson(value)).toBe(
      '{"\\r":2,"1":4,"10":5,"9":6,"\u0080":8,"\u00f6":9,"\u20ac":1,"\ud83d\ude00":7,"\ufb33":3}',
    );
  });

  test.each([31, 32, 33, 200])("orders %i keys", (count) => {
    const keys = Array.from({ length: count }, (_, index) => `${(index * 7) % count} \u20ac"`);
    const value = Object.fromEntries(keys.map((key) => [key, "\n"]));
    expect(canonicalJson(value)).toBe(canonicalize(value));
  });

  test("writes any key, and leaves out undefined values", () => {
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1},"":0,"constructor":null}'))).toBe(
      '{"":0,"__proto__":{"a":1},"constructor":null}',
    );
    expect(canonicalJson({ a: undefined, b: 1, c: undefined })).toBe('{"b":1}');
  });

  test.each([
    [Number.NaN, "NaN is not a JSON number"],
    [Number.POSITIVE_INFINITY, "Infinity is not a JSON number"],
    ["\ud800", "lone surrogate"],
    [{ "\udc00": 1 }, "lone surrogate"],
    [[[{ a: [Number.NaN] }]], "NaN"],
    [1n, "A bigint is not JSON"],
    [undefined, "A undefined is not JSON"],
    [[undefined], "A undefined is not JSON"],
    [() => 1, "A function is not JSON"],
  ])("refuses %o", (value, message) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
    expect(() => canonicalJson(value)).toThrow(message);
  });

  test("agrees with another implementation and is stable", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = canonicalJson(value);
        expect(text).toBe(canonicalize(value));
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([499, 500, 501, 1_000, 1_001, 1_499, 1_501])("writes a list of %i entries", (count) => {
    const values = Array.from(
      { length: count },
      (_, index) => [`\u20ac"${index}`, null, { b: index, a: [index, "]"] }][index % 3],
    );
    expect(canonicalJson({ values, after: [values] })).toBe(canonicalize({ values, after: [values] }));
    expect(() => canonicalJson([...values, undefined])).toThrow("A undefined is not JSON");
  });

  test("builds a long list in little more memory than its text takes", () => {
    const canonical = join(import.meta.dirname, "../../src/lib/canonical.ts");
    const script = `
      import { canonicalJson } from ${JSON.stringify(canonical)};
      const text = canonicalJson(new Array(1_000_000).fill("one of a million"));
      console.log(text.length, text.endsWith('","one of a million"]'));`;
    const made = spawnSync(process.execPath, ["--max-old-space-size=96", "--input-type=module", "--eval", script], {
      encoding: "utf8",
    });
    expect(made.stdout).toBe("19000001 true\n");
  });

  test("is the same for more keys than it caches", () => {
    for (let each = 0; each < 3_000; each++) {
      const value = { [`key "${each}"`]: each, [`${"long".repeat(20)}${each}`]: "x" };
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }
  });
});
