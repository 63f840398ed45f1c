import { describe, expect, it } from "vitest";
import { valueFitting } from "../../../src/kernel/kit/json-schema.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { textCheck } from "../../../src/protocol/content-check.ts";
import { failureOf, value } from "../../results.ts";

const wrong = (schema: JsonObject, text: string) => failureOf(valueFitting(text, schema, "/summary"));

describe("the schema of an answer", () => {
  it("may be of another draft, with formats and keywords that are unknown", () => {
    const draft07 = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "string",
      format: "iban",
      examples: [1],
    };
    expect(valueFitting('"so"', draft07, "/summary")).toMatchObject({ ok: true, value: "so" });
    expect(wrong(draft07, "1").message).toContain("it must be a string, not a number");
  });

  it("is checked at once, also if it says that it is asynchronous", () => {
    expect(wrong({ $async: true, type: "string" }, "1").message).toContain("must be a string");
  });

  it.each<[JsonObject, RegExp]>([
    [{ type: "objekt" }, /type must be equal to one of the allowed values/],
    [{ pattern: "(" }, /Invalid regular expression/],
    [{ $ref: "https://example.org/x" }, /can't resolve reference/],
  ])("%o is none, and it says why", (schema, why) => {
    const check = textCheck(schema, { isPersons: true });
    expect(check.ok ? "" : check.error).toMatch(why);
  });
});

describe("an answer that is no JSON that fits", () => {
  it("is refused with the places that do not, of many the first ten", () => {
    const schema = { type: "array", items: { type: "integer" } };
    const refused = wrong(schema, JSON.stringify(Array.from({ length: 30 }, () => "x")));
    expect(refused.message.match(/must be an integer/g)).toHaveLength(10);
    expect(refused).toMatchObject({
      message: expect.stringContaining("(at /9 in it)"),
      details: { pointer: "/summary" },
    });
  });

  it("is refused if it is nested deeper than records are", () => {
    expect(wrong({}, "[".repeat(60) + "]".repeat(60)).message).toContain("The summary nests 60 levels deep");
    expect(value(valueFitting("[".repeat(50) + "]".repeat(50), {}, "/summary"))).toBeDefined();
  });
});
