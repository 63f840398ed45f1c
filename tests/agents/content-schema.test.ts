import { describe, expect, test } from "vitest";
import { claude } from "../../src/agents/cli/dialects/claude.ts";
import { contentCheckOf } from "../../src/agents/content-schema.ts";
import { standardPrompts } from "../../src/agents/prompts/prompts.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { PayloadType } from "../../src/protocol/payload.ts";
import { textCheck } from "../../src/protocol/content-check.ts";
import { heard, readerOf } from "./dialects/reading.ts";
import { AgentRig, envelope } from "./rig.ts";

const RISKS = {
  type: "object",
  required: ["risks"],
  properties: { risks: { type: "array", items: { type: "string" } }, level: { enum: ["low", "high"] } },
  additionalProperties: false,
};

const FITTING = JSON.stringify({ risks: ["Indexes."], level: "low" });

describe("an output_schema", () => {
  test.each<[PayloadType, JsonObject, string]>([
    ["report", { status: "completed" }, "summary"],
    ["opinion", { round: 1 }, "position"],
    ["verdict", {}, "conclusion"],
    ["pm_decision", { analysis: "All agree.", next_action: "FINISH" }, "final_report"],
  ])("holds the text of a %s", async (payload_type, payload, field) => {
    const check = await contentCheckOf({ output_schema: RISKS });
    const of = (text: string) => check?.({ payload_type, payload: { ...payload, [field]: text } });
    expect(of(FITTING)).toBeUndefined();
    expect(of("Indexes break.")).toMatchObject({ payload_type, code: "validation_failed", pointer: `/${field}` });
  });

  test("says everything that does not fit, with its place", async () => {
    const check = await contentCheckOf({ output_schema: RISKS });
    const answer = { risks: [1], level: "odd", more: true };
    const payload = { status: "completed", summary: JSON.stringify(answer) };
    const { message = "" } = check?.({ payload_type: "report", payload }) ?? {};
    expect(message).toContain("at /more in it");
    expect(message).toContain("must be a string, not a number (at /risks/0 in it)");
    expect(message).toContain('must be "low" or "high", not "odd" (at /level in it)');
  });

  test("holds no report that the work is blocked, no error, no plan, and no decision that asks somebody", async () => {
    const check = await contentCheckOf({ output_schema: RISKS });
    const free: [PayloadType, JsonObject][] = [
      ["report", { status: "blocked", summary: "Which index?" }],
      ["error", { code: "agent_failed", message: "I cannot." }],
      ["plan", { summary: "Two tasks.", tasks: [] }],
      ["pm_decision", { analysis: "Open.", next_action: "CALL_AGENT", target_agent: "a", prompt_for_agent: "Why?" }],
    ];
    expect(free.map(([payload_type, payload]) => check?.({ payload_type, payload }))).toEqual(
      free.map(() => undefined),
    );
  });

  test.each(["", "Three risks, the worst first.", '{"risks": ["…"]}', "[1, 2]", "{ not JSON }"])(
    "in words or as an example holds nothing: %j",
    async (output_schema) => expect(await contentCheckOf({ output_schema })).toBeUndefined(),
  );

  test("may be the text of a JSON Schema, and of any draft", async () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const check = await contentCheckOf({ output_schema: JSON.stringify({ $schema, ...RISKS }) });
    const payload = { status: "completed", summary: "{}" };
    expect(check?.({ payload_type: "report", payload })).toMatchObject({ pointer: "/summary" });
  });
});

describe("a schema that could hang the scheduler", () => {
  // A pattern such as ^(a+)+$ takes for ever on a short text.
  test("is checked without its patterns, formats and comparisons of every entry with every other", () => {
    const check = textCheck({ items: { type: "string", pattern: "^x$", format: "date" }, uniqueItems: true });
    expect(check).toMatchObject({ ok: true });
    expect(check.ok && check.value('["y", "y"]')).toBeUndefined();
    expect(check.ok && check.value("[1]")).toContain("at /0 in it");
  });

  test.each(["$ref", "$dynamicRef", "patternProperties", "$async"])("is refused for its %s", (keyword) => {
    const check = textCheck({ type: "object", properties: { a: { [keyword]: {} } } });
    expect(check).toEqual({ ok: false, error: `${keyword} is not supported` });
  });

  test("is refused where it is no JSON Schema", () => {
    expect(textCheck({ type: "proposal" })).toMatchObject({ ok: false, error: expect.stringContaining("data/type") });
  });
});

describe("an agent whose answer does not fit its output_schema", () => {
  test("is refused, and may answer again in the same process", async () => {
    const rig = await AgentRig.open();
    const { role } = rig.request();
    const turn = await rig.turn({ request: { role: { ...role, output_schema: RISKS } } });
    await turn.puppet.print(envelope("report", { status: "completed", summary: "Indexes break." }));
    const refused = await turn.event(({ kind }) => kind === "refused");
    expect(refused).toMatchObject({
      refusal: { pointer: "/summary", message: expect.stringContaining("it is not JSON") },
    });
    await turn.puppet.print(envelope("report", { status: "completed", summary: FITTING }));
    turn.puppet.tell({ do: "exit", code: 0 });
    expect(await turn.result).toMatchObject({ answer: { payload: { summary: FITTING } } });
  });

  test("is asked once more in the same conversation, if it speaks no envelopes", async () => {
    const reader = readerOf(
      claude,
      { cli_command: ["claude"] },
      undefined,
      await contentCheckOf({ output_schema: RISKS }),
    );
    const structured_output = { payload_type: "report", report: { status: "completed", summary: "Indexes break." } };
    const { answer, refused, repair } = heard(reader, [{ type: "result", subtype: "success", structured_output }]);
    expect(answer).toBeUndefined();
    expect(refused).toMatchObject([{ pointer: "/summary" }]);
    expect(repair).toContain("The text in /summary must be bare JSON of your output_schema: it is not JSON");
  });

  test("is told the form before, where its answer has such a text", async () => {
    const rig = await AgentRig.open();
    const { role } = rig.request();
    const prompt = (output_schema: string | JsonObject, expects = ["report"]) =>
      standardPrompts().render(rig.request({ request: { role: { ...role, output_schema } }, payload: { expects } }));
    expect(prompt(RISKS)).toContain(`\`summary\` of a report, has this form: it is bare JSON`);
    expect(prompt(RISKS)).toContain(`\n${JSON.stringify(RISKS)}\n`);
    expect(prompt("Three risks.")).toContain("has this form:\n\n```\nThree risks.\n```");
    expect(prompt(RISKS, ["review"])).not.toContain("has this form");
  });
});
