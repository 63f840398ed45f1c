import { describe, expect, test } from "vitest";
import { claude } from "../../../src/agents/cli/dialects/claude.ts";
import type { ReadOutput } from "../../../src/agents/cli/dialects/dialect.ts";
import type { TurnRequest } from "../../../src/kernel/agent.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { heard, readerOf } from "./reading.ts";

const ROLE = { cli_command: ["claude"] };

function hear(messages: readonly JsonObject[], code = 0, conversation?: TurnRequest["conversation"]): ReadOutput {
  return heard(readerOf(claude, ROLE, conversation), messages, code);
}

describe("the answer of claude without a structured output", () => {
  const report = JSON.stringify({ payload_type: "report", report: { status: "completed", summary: "Done." } });
  const block = (id: string, text: string, parent: string | null = null) => ({
    type: "assistant",
    message: { id, content: [{ type: "text", text }] },
    parent_tool_use_id: parent,
  });
  const result = (text: string) => ({ type: "result", subtype: "success", is_error: false, result: text });
  const [begin, end] = [report.slice(0, 20), report.slice(20)];

  test.each([
    ["the result", [result(report)]],
    ["the last message, when the result is empty", [block("m1", "Working."), block("m2", report), result("")]],
    ["the whole last message", [block("m1", "Working."), block("m2", begin), block("m2", end), result(end)]],
    ["of its own, and not of a subagent", [block("m1", report), block("m2", "Nothing.", "toolu_1"), result("")]],
  ])("is %s", (_what, messages) => {
    expect(hear(messages).answer).toMatchObject({ payload_type: "report", payload: { status: "completed" } });
  });

  test("is missing for a failure whose cause no error of a subagent gives", () => {
    const subagent = { type: "assistant", error: "model_not_found", parent_tool_use_id: "toolu_1" };
    const failed = { type: "result", is_error: true, result: "API Error: 500", api_error_status: 500 };
    expect(hear([subagent, failed], 1).failure?.code).toBe("unavailable");
  });
});

describe("a rate limit of claude", () => {
  const failed = { type: "result", is_error: true, result: "API Error: 429", api_error_status: 429 };
  const retry = (attempt: number, retry_delay_ms: number) => ({
    type: "system",
    subtype: "api_retry",
    attempt,
    retry_delay_ms,
  });

  test("is held for as long as the server told Claude Code to wait", () => {
    const { failure } = hear([retry(1, 2_069), retry(2, 1_020), failed], 1);
    expect(failure?.details?.["retry_at"]).toMatch(/^2026-11-24T17:00:[0-2]/);
  });

  test("is held for a minute when Claude Code waited by its own back-off", () => {
    const { failure } = hear([retry(1, 597), retry(2, 1_240), failed], 1);
    expect(failure?.details?.["retry_at"]).toMatch(/^2026-11-24T17:01:/);
  });
});

describe("the usage of claude", () => {
  const counted = (tokens: number, cost_usd: number, more: JsonObject = {}) => ({
    type: "result",
    is_error: false,
    result: "",
    modelUsage: { m: { inputTokens: tokens, outputTokens: tokens, costUSD: cost_usd } },
    ...more,
  });

  test("in several results of an older version is what the last one counts", () => {
    expect(hear([counted(10, 0.5), counted(30, 0.75)]).usage).toMatchObject({ input_tokens: 30, cost_usd: 0.75 });
  });

  test("in several results of a newer version is the sum of what each counts since the last", () => {
    const since = { model_usage_since_last_result: { m: { inputTokens: 10, outputTokens: 10, costUSD: 0.25 } } };
    const { usage } = hear([counted(10, 0.25, since), counted(20, 0.5, since)]);
    expect(usage).toMatchObject({ input_tokens: 20, cost_usd: 0.5 });
  });

  test.each([
    ["is the difference to the total before", 50, 20],
    ["is all of it in a version that counts anew", 20, 20],
  ])("in a conversation that goes on %s", (_what, now, used) => {
    const total = { input_tokens: 30, output_tokens: 30, cached_tokens: 0, cost_usd: 0.25 };
    const { usage } = hear([counted(now, 0.5)], 0, { id: "c-1", how: "resume", total });
    expect(usage).toMatchObject({ input_tokens: used, output_tokens: used });
  });
});
