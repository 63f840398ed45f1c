import { describe, expect, it, test } from "vitest";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { acceptAnswer, validatePayload } from "../../src/protocol/envelope.ts";
import { understood } from "../../src/protocol/leniency.ts";
import { isPayloadType, type PayloadType } from "../../src/protocol/payload.ts";
import { schemaFiles } from "./examples.ts";

const task = { task_id: "a", description: "A." };

describe("a payload is read as it is meant", () => {
  test.each<[type: PayloadType, written: JsonObject, meant: JsonObject]>([
    ["report", { status: "completed", outputs: "a.txt" }, { status: "completed", outputs: ["a.txt"] }],
    [
      "report",
      { status: "error", issues: "no", evidence: "log" },
      { status: "error", issues: ["no"], evidence: ["log"] },
    ],
    ["report", { status: "error", next_actions: "wait" }, { status: "error", next_actions: ["wait"] }],
    [
      "report",
      { status: "completed", evidence: { text: "tests pass", exit_code: 0, output: null } },
      { status: "completed", evidence: [{ text: "tests pass", exit_code: 0 }] },
    ],
    ["report", { status: "completed", summary: null, usage: null }, { status: "completed" }],
    [
      "review",
      { decision: "changes_requested", requested_changes: "sort it" },
      { decision: "changes_requested", requested_changes: ["sort it"] },
    ],
    [
      "instruction",
      { summary: "S.", steps: "do it", resources: "README.md", acceptance_criteria: "it is there" },
      { summary: "S.", steps: ["do it"], resources: ["README.md"], acceptance_criteria: ["it is there"] },
    ],
    ["instruction", { summary: "S.", steps: { shell: "ls" } }, { summary: "S.", steps: [{ shell: "ls" }] }],
    [
      "instruction_proposal",
      { summary: "S.", open_questions: "who?", risks: "loss", draft_steps: "copy" },
      { summary: "S.", open_questions: ["who?"], risks: ["loss"], draft_steps: ["copy"] },
    ],
    [
      "plan",
      { tasks: { ...task, assigned_to: "worker", risks: "loss", expected_outputs: "a.txt", dependencies: null } },
      { tasks: [{ ...task, assigned_to: { role_id: "worker" }, risks: ["loss"], expected_outputs: ["a.txt"] }] },
    ],
    [
      "plan",
      { tasks: [{ ...task, instruction: { summary: "S.", steps: "do it", turn_id: null } }] },
      { tasks: [{ ...task, instruction: { summary: "S.", steps: ["do it"] } }] },
    ],
    [
      "clarification",
      { status: "open", questions: ["A?", { question_id: "q2", text: "B?", why: null }, "C?"] },
      {
        status: "open",
        questions: [
          { question_id: "q1", text: "A?" },
          { question_id: "q2", text: "B?" },
          { question_id: "q3", text: "C?" },
        ],
      },
    ],
    [
      "report",
      { status: "blocked", questions: "A?" },
      { status: "blocked", questions: [{ question_id: "q1", text: "A?" }] },
    ],
    [
      "approval",
      { decision: "approved", plan: { tasks: [{ ...task, assigned_to: "worker" }] } },
      { decision: "approved", plan: { tasks: [{ ...task, assigned_to: { role_id: "worker" } }] } },
    ],
  ])("%s %j", (type, written, meant) => {
    expect(validatePayload(type, written)).toEqual({ ok: true, value: meant });
  });
});

describe("what is wrong is told where it was written", () => {
  test.each<[type: PayloadType, written: JsonObject, pointer: string, rule: string]>([
    ["instruction", { summary: "S.", acceptance_criteria: "" }, "/acceptance_criteria", "minLength"],
    ["clarification", { status: "open", questions: "" }, "/questions", "minLength"],
    ["clarification", { status: "open", questions: ["A?", ""] }, "/questions/1", "minLength"],
    ["clarification", { status: "open", questions: { text: "A?" } }, "/questions/question_id", "required"],
    ["plan", { tasks: { ...task, assigned_to: "no role" } }, "/tasks/assigned_to", "pattern"],
    ["plan", { tasks: { a: task } }, "/tasks/task_id", "required"],
    ["report", { status: "completed", issues: "none", surprise: null }, "/surprise", "additionalProperties"],
    ["report", { status: null, issues: "none" }, "/status", "enum"],
    ["report", { status: "completed", issues: [null] }, "/issues/0", "anyOf"],
    ["report", { status: "completed", summary: ["a"] }, "/summary", "type"],
    [
      "clarification",
      { status: "open", questions: [{ question_id: "q1", text: "A?", options: "a" }] },
      "/questions/0/options",
      "type",
    ],
    ["plan", { tasks: [{ ...task, dependencies: "b" }] }, "/tasks/0/dependencies", "type"],
    ["plan", { tasks: [{ ...task, instruction: "do it" }] }, "/tasks/0/instruction", "type"],
    ["review", { decision: "approved", metadata: "text" }, "/metadata", "type"],
  ])("%s %j", (type, written, pointer, rule) => {
    const checked = validatePayload(type, written);
    expect(checked).toMatchObject({ ok: false, error: { pointer } });
    expect(checked.ok ? "" : checked.error.message).toMatch(new RegExp(`\\[${rule}\\]$`));
  });
});

it("keeps the metadata of an agent as it is written", () => {
  const metadata = { risks: "loss", nothing: null };
  const written = { status: "completed", issues: "none", metadata };
  expect(validatePayload("report", written)).toMatchObject({ ok: true, value: { metadata } });
});

it("changes nothing in a value that fits its schema", () => {
  for (const { name, schema } of schemaFiles) {
    if (!isPayloadType(name) && name !== "plan_file") continue;
    for (const example of schema.examples ?? []) expect(understood(name, example).value).toEqual(example);
  }
});

it("reads null in an agent's envelope as absent where it may be absent", () => {
  const envelope: { [key: string]: Json } = {
    session_id: "s1",
    timestamp: null,
    source: "worker",
    target: "scheduler",
    payload_type: "report",
    version: "1.0",
    payload: { status: "completed", turn_id: null, ticket_id: null },
  };
  const channel = { session_id: "s1", role_id: "worker", turn_id: "t1", subject: "a" };
  expect(acceptAnswer(envelope, channel)).toMatchObject({ ok: true, value: { payload: { status: "completed" } } });
  expect(acceptAnswer({ ...envelope, version: null }, channel)).toMatchObject({ ok: false });
});
