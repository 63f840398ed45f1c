import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it, vi } from "vitest";
import { answerIn, answerSchema, readAnswer } from "../../src/agents/prompts/answers.ts";
import type { Answer } from "../../src/kernel/agent.ts";
import { type Json, type JsonObject, isJsonObject } from "../../src/lib/json.ts";
import { AGENT_PAYLOAD_TYPES, type PayloadType } from "../../src/protocol/payload.ts";
import type { Refusal } from "../../src/protocol/refusal.ts";

/** The types that answer turns: all that agents send but the file that is kept meanwhile. */
const ANSWERS = AGENT_PAYLOAD_TYPES.filter((type) => type !== "artifact_ref");

/** The keywords that OpenAI's strict mode and draft-07 validators share. */
const KEYWORDS = ["type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"];

const SCHEMA = answerSchema(ANSWERS);

function accepted(result: ReturnType<typeof answerIn>): Answer {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function refused(result: ReturnType<typeof answerIn>): Refusal | undefined {
  return result.ok ? undefined : result.error;
}

function examplesOf(type: PayloadType): JsonObject[] {
  const file = join(import.meta.dirname, `../../schemas/payloads/${type}.schema.json`);
  return (JSON.parse(readFileSync(file, "utf8")) as { examples: JsonObject[] }).examples;
}

/** The schema of a member that is null if it is not meant. */
function member(schema: JsonObject): JsonObject {
  return (schema["anyOf"] as readonly JsonObject[])[0] ?? {};
}

/** A value as a model would write it under this schema: null for what is absent, nothing that the schema does not have. */
function written(value: Json | undefined, schema: JsonObject): Json {
  if (value === undefined || value === null) return null;
  const branches = (schema["anyOf"] ?? [schema]) as readonly JsonObject[];
  const branch = branches.find(({ type }) => [type].flat().includes(kindOf(value))) ?? {};
  if (Array.isArray(value)) return value.map((item: Json) => written(item, branch["items"] as JsonObject));
  if (!isJsonObject(value)) return value;
  if (branch["properties"] === undefined) return value["text"] as Json; // an object with a text, where only texts are written
  const members = Object.entries(branch["properties"] as { [key: string]: JsonObject });
  return Object.fromEntries(members.map(([key, inner]) => [key, written(value[key], inner)]));
}

function kindOf(value: Json): string {
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Without what models do not write, and with texts in their short form. */
function normal(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => normal(item));
  if (!isJsonObject(value)) return value;
  const { usage: _usage, turn_id: _turn, ticket_id: _ticket, metadata: _metadata, ...rest } = value;
  if (Object.keys(rest).join() === "text") return rest["text"] as Json;
  return Object.fromEntries(Object.entries(rest).map(([key, inner = null]) => [key, normal(inner)]));
}

function schemasIn(value: Json, depth = 0): { schema: JsonObject; depth: number }[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => schemasIn(item, depth));
  if (!isJsonObject(value)) return [];
  const { properties, items, anyOf } = value;
  const inner = Object.values((properties ?? {}) as JsonObject);
  return [
    { schema: value, depth },
    ...[...inner, items].flatMap((one) => schemasIn(one ?? null, depth + 1)),
    ...schemasIn(anyOf ?? null, depth),
  ];
}

describe("the choices of a request", () => {
  const memberOf = (choices: Parameters<typeof answerSchema>[1]) => {
    const { properties = {} } = answerSchema(["pm_decision"], choices) as {
      properties?: { [type: string]: JsonObject };
    };
    return member(properties["pm_decision"] ?? {})["properties"];
  };

  it("are the only texts at their places, where nothing may stand too if it may be left out", () => {
    expect(memberOf({ "/target_agent": ["a", "b"], "/next_action": ["FINISH"] })).toMatchObject({
      next_action: { type: "string", enum: ["FINISH"] },
      target_agent: {
        description: expect.any(String),
        anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "null" }],
      },
      prompt_for_agent: { type: ["string", "null"] },
    });
  });

  it("change no other answer, and nothing at a place that it does not have", () => {
    expect(answerSchema(["report"], { "/target_agent": ["a"] })).toEqual(answerSchema(["report"]));
    expect(memberOf({ "/target_agent/0": ["a"], odd: ["b"] })).toEqual(memberOf({}));
  });
});

describe("the schema of an answer", () => {
  it("keeps to what every provider takes", () => {
    const all = schemasIn(SCHEMA);
    const foreign = all.flatMap(({ schema }) => Object.keys(schema)).filter((key) => !KEYWORDS.includes(key));
    expect(foreign).toEqual([]);
    for (const { schema } of all) {
      expect("type" in schema || "anyOf" in schema).toBe(true);
      if (schema["type"] !== "object") continue;
      expect(schema).toMatchObject({ additionalProperties: false });
      expect(schema["required"]).toEqual(Object.keys(schema["properties"] as JsonObject));
    }
    expect(Math.max(...all.map(({ depth }) => depth))).toBeLessThanOrEqual(10);
    expect(all.flatMap(({ schema }) => Object.keys((schema["properties"] ?? {}) as JsonObject)).length).toBeLessThan(
      5000,
    );
    expect(() => new Ajv({ strict: true, allowUnionTypes: true }).compile(SCHEMA)).not.toThrow();
  });

  it.each(ANSWERS)("carries every example of %s there and back", (type) => {
    const fits = new Ajv({ strict: true, allowUnionTypes: true }).compile(answerSchema([type]));
    const members = answerSchema([type])["properties"] as { [member: string]: JsonObject };
    for (const example of examplesOf(type)) {
      const others = type === "error" ? {} : { error: null };
      const whole = { payload_type: type, [type]: written(example, member(members[type] ?? {})), ...others };
      expect({ fits: fits(whole), errors: fits.errors }).toEqual({ fits: true, errors: null });
      const read = accepted(readAnswer(whole, [type]));
      expect(read.payload_type).toBe(type);
      expect(normal(read.payload)).toEqual(normal(example));
    }
  });
});

describe("an answer in a text", () => {
  const report = { payload_type: "report", report: { status: "completed", summary: 'it says "}" {' } };
  const text = JSON.stringify(report);

  it("is the last object that fits, bare or fenced, among words and code", () => {
    const texts = [
      text,
      `Here you are:\n\n\`\`\`json\n${JSON.stringify(report, null, 2)}\n\`\`\`\nDone { so } far.`,
      `function x() { return "{" }\nif (a) {\n${text}`,
      `{"payload_type":"report","report":{"status":"blocked"}}\n${text}\n{"payload_type":"report","report":{"status":"lost"}}`,
    ];
    for (const one of texts) expect(accepted(answerIn(one, ["report"])).payload).toEqual(report.report);
  });

  it("says what is wrong with the last that could be one", () => {
    expect(refused(answerIn("All done.", ["report"]))).toMatchObject({ code: "malformed_output" });
    expect(refused(answerIn(`${text} {"so": 1}`, ["plan"]))).toMatchObject({ code: "not_permitted" });
    const lost = '{"payload_type":"report","report":{"status":"lost"}} {"a":1}';
    expect(refused(answerIn(lost, ["report"]))).toMatchObject({ payload_type: "report", pointer: "/status" });
    const progress = '{"payload_type":"report","report":{"status":"progress"}}';
    expect(refused(answerIn(progress, ["report"]))).toMatchObject({ pointer: "/status" });
  });

  it("takes no longer than its length allows for text full of braces", () => {
    // Would take hours if each brace were followed to the end.
    for (const hostile of ["{".repeat(500_000), '{"'.repeat(250_000), "{}".repeat(250_000)]) {
      expect(answerIn(hostile, ["report"]).ok).toBe(false);
    }
  });

  it("is looked for in a bounded part of a text that is full of objects", () => {
    const parsing = vi.spyOn(JSON, "parse");
    const object = `{"a":[${"1,".repeat(10_000)}1]}`;
    expect(answerIn(object.repeat(300), ["report"]).ok).toBe(false);
    const parsed = parsing.mock.calls.reduce((sum, [piece]) => sum + piece.length, 0);
    parsing.mockRestore();
    expect(parsed).toBeGreaterThan(object.length);
    expect(parsed).toBeLessThan(2 * 1_048_576);
    // The object is found by its end, which is sought once in the whole text, and not again for each brace.
    expect(answerIn(`${"{".repeat(8_000_000)}${text}`, ["report"]).ok).toBe(false);
    expect(answerIn(`${"{ ".repeat(10)}${"word ".repeat(80_000)}${text}`, ["report"]).ok).toBe(true);
  });

  it("has as many members as a line", () => {
    const many = `{"payload_type":"report","report":{"status":"completed","outputs":[${"1,".repeat(60_000)}1]}}`;
    expect(refused(answerIn(many, ["report"]))).toMatchObject({ code: "output_limit" });
    const tasks = Array.from({ length: 20_000 }, (_, n) => ({ task_id: `t${n}`, description: "Do it" }));
    const plan = JSON.stringify({ payload_type: "plan", plan: { summary: "Much", tasks } });
    expect(accepted(answerIn(plan, ["plan"])).payload).toMatchObject({ tasks: { length: 20_000 } });
  });
});
