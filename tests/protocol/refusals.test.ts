import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { acceptAnswer, validateHeader, validatePayload } from "../../src/protocol/envelope.ts";
import { failure } from "../../src/protocol/failure.ts";
import { validators } from "../../src/protocol/generated/validators.js";
import { parseLine } from "../../src/protocol/limits.ts";
import { isPayloadType } from "../../src/protocol/payload.ts";
import { quote, type Refusal, refusal, refusalFrom } from "../../src/protocol/refusal.ts";
import { schemaFiles, validate } from "./examples.ts";
import { computing } from "../computing.ts";

function refused(name: string, value: unknown): Refusal {
  const checked = isPayloadType(name) ? validatePayload(name, value) : validate(name, value);
  if (checked.ok) throw new Error(`${name} was accepted`);
  return checked.error;
}

const task = { task_id: "a", description: "A." };

describe("a refusal has a pointer, a rule and the facts", () => {
  const issue = (value: Json) => ({ status: "blocked", issues: [value] });
  const planWith = (value: JsonObject) => ({ tasks: [{ ...task, ...value }] });
  const criterion = (value: JsonObject) => planWith({ acceptance_criteria: [{ text: "x", ...value }] });
  test.each<[type: string, value: unknown, pointer: string, rule: string, facts: readonly string[]]>([
    ["report", {}, "/status", "required", ["missing"]],
    ["report", { statsu: "completed" }, "/status", "required", ["missing", '"statsu"']],
    ["report", { status: "completed", isues: [] }, "/isues", "additionalProperties", ['did you mean "issues"?']],
    ["review", { decision: "approved", zebra: 1 }, "/zebra", "additionalProperties", ["notes", "requested_changes"]],
    ["report", { status: "complete" }, "/status", "enum", ['"progress"', 'not "complete"', 'mean "completed"?']],
    ["report", { status: 7 }, "/status", "enum", ['"blocked" or "error"', "not 7"]],
    ["report", [], "", "type", ["The message", "an object", "not a list"]],
    ["report", null, "", "type", ["not null"]],
    ["report", { status: "blocked", issues: 5 }, "/issues", "type", ["a list", "not a number"]],
    ["report", issue(7), "/issues/0", "anyOf", ["a string or an object", "not a number"]],
    ["report", issue({ txt: "x" }), "/issues/0/text", "required", ["missing", '"txt"']],
    ["report", { status: "completed", outputs: [{ uri: "a" }] }, "/outputs/0", "anyOf", ['"label" or "text"']],
    ["report", { status: "completed", usage: { input_tokens: -1 } }, "/usage/input_tokens", "minimum", ["0", "not -1"]],
    ["report", { status: "completed", usage: { input_tokens: 1.5 } }, "/usage/input_tokens", "type", ["an integer"]],
    [
      "check_result",
      {
        check_id: "c",
        results: [{ criterion: "x", exit_code: "0", passed: true, output: "" }],
      },
      "/results/0/exit_code",
      "type",
      ["an integer or null", "not a string"],
    ],
    ["plan", {}, "", "anyOf", ['"tasks" or "tasks_ref"']],
    ["plan", { tasks: [] }, "/tasks", "minItems", ["empty"]],
    ["plan", planWith({ task_id: "a/b" }), "/tasks/0/task_id", "pattern", ["64 letters", 'not "a/b"']],
    ["plan", { tasks: [task, { ...task, needs: [] }] }, "/tasks/1/needs", "additionalProperties", ["dependencies"]],
    ["plan", planWith({ assigned_to: {} }), "/tasks/0/assigned_to", "minProperties", ["one", "role_id, capability"]],
    ["plan", planWith({ assigned_to: 7 }), "/tasks/0/assigned_to", "type", ["an object", "not a number"]],
    ["plan", criterion({ command: "npm test" }), "/tasks/0/acceptance_criteria/0/command", "type", ['["npm", "test"]']],
    ["plan", criterion({ timeout_s: 0 }), "/tasks/0/acceptance_criteria/0/timeout_s", "exclusiveMinimum", ["than 0"]],
    ["artifact_ref", { label: "", uri: "a" }, "/label", "minLength", ["empty"]],
    ["artifact_ref", { label: "x".repeat(501), uri: "a" }, "/label", "maxLength", ["500 characters"]],
    ["scheduler_config", { max_worker: 2 }, "/max_worker", "additionalProperties", ['did you mean "max_workers"?']],
    ["roles", { roles: [{ role_id: "a", type: "worker" }] }, "/roles/0/cli_command", "required", ["missing"]],
    ["answers", [{ text: "x" }], "/0", "anyOf", ['"question_id" or "match"']],
    ["answers", "x", "", "anyOf", ["an object or a list", "not a string"]],
    ["answers", { q1: null }, "/q1", "type", ["a string, a number or a boolean", "not null"]],
    ["user_command", { command: "resume", "a/b": 1 }, "/a~1b", "additionalProperties", ["ticket_id", "reason"]],
  ])("%s %j", (type, value, pointer, rule, facts) => {
    const { message, ...rest } = refused(type, value);
    expect(rest).toEqual({
      payload_type: type,
      code: "validation_failed",
      pointer,
    });
    expect(message).toMatch(new RegExp(`\\[${rule}\\]$`));
    for (const fact of [pointer, ...facts]) expect(message).toContain(fact);
  });

  it("counts characters, not code units", () => {
    expect(validate("artifact_ref", { label: "🚢".repeat(500), uri: "a" }).ok).toBe(true);
    expect(refused("artifact_ref", { label: "🚢".repeat(501), uri: "a" }).message).toContain("[maxLength]");
  });
});

const hostile = Object.fromEntries(
  Array.from({ length: 200_000 }, (_, index) => [`de${String(index).padStart(6, "0")}`, 1]),
);

describe("a refusal of hostile input", () => {
  it("is short for texts of any length", () => {
    const long = "x".repeat(1_000_000);
    for (const value of [{ [long]: 1 }, { status: long }, { status: "completed", turn_id: long }]) {
      const refusal = refused("report", value);
      expect(refusal.message.length).toBeLessThan(2_000);
      expect(refusal.pointer.length).toBeLessThan(600);
    }
  });

  it("cuts a long payload type", () => {
    const header = schemaFiles.find((file) => file.name === "envelope")?.schema.examples?.[0] as JsonObject;
    const refusal = validateHeader({
      ...header,
      payload_type: "x".repeat(1_000_000),
    });
    expect(refusal).toMatchObject({
      ok: false,
      error: { payload_type: "x".repeat(64), pointer: "/payload_type" },
    });
  });

  it("compares only the first 50 unknown keys with a missing one", () => {
    const strangers = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field_${index}`, 1]));
    expect(refused("review", { decisoin: "approved", ...strangers }).message).toContain("decisoin");
    expect(refused("review", { ...strangers, decisoin: "approved" }).message).not.toContain("decisoin");
  });

  it("keeps no reference to the message", () => {
    refused("review", { decision: "maybe" });
    expect(validators.review.errors).toBeNull();
  });

  it("fits the schema of turn_failed", () => {
    const refusal = refused("report", {
      ["\u001b[2J\n".repeat(100_000)]: 1,
      status: "completed",
    });
    const failed = {
      turn_id: "t1",
      code: "validation_failed",
      message: "No valid answer.",
      refused: [refusal],
    };
    expect(validate("turn_failed", failed).ok).toBe(true);
  });

  test.each<[string, string, unknown]>([
    [
      "200,000 wrong entries",
      "report",
      {
        status: "completed",
        outputs: Array.from({ length: 200_000 }, () => 5),
      },
    ],
    ["200,000 unknown fields, each nearly a known one", "review", hostile],
    ["ten thousand bad tasks", "plan", { tasks: Array.from({ length: 10_000 }, () => ({ task_id: "?" })) }],
    ["an id of a million letters", "review", { decision: "approved", turn_id: "a".repeat(1_000_000) }],
    ["a time of a million digits", "timer_fired", { timer_id: "x", due_at: "1".repeat(1_000_000) }],
  ])("takes little time: %s", (_, type, value) => {
    // Half a second at worst on a quiet machine; anything quadratic takes many minutes.
    expect(computing(() => refused(type, value))).toBeLessThan(8_000);
  });

  it("meets only patterns of linear time", () => {
    const patterns = new Set(
      schemaFiles.flatMap((file) =>
        [...JSON.stringify(file.schema).matchAll(/"pattern":"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1] ?? ""),
      ),
    );
    patterns.add(String.raw`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,3})?Z$`);
    for (const pattern of patterns) {
      const expression = new RegExp(JSON.parse(`"${pattern}"`) as string, "u");
      for (const unit of ["a", "0", ".", "a.", "-"]) {
        const text = `${unit.repeat(200_000)}!`;
        expect(
          computing(() => expression.test(text)),
          `${pattern} on ${unit}`,
        ).toBeLessThan(1_000);
      }
    }
  });
});

/** Well-formed texts of the lengths at which something is cut: mostly one letter, then characters of two UTF-16 units. */
const edgy = fc
  .tuple(
    fc.constantFrom("", "\n", '"', "\\"),
    fc.oneof(fc.nat(70), fc.integer({ min: 180, max: 200 }), fc.integer({ min: 480, max: 510 })),
    fc.nat(50),
    fc.constantFrom("", "\n", "~/"),
  )
  .map(([before, letters, pairs, after]) => before + "k".repeat(letters) + "😀".repeat(pairs) + after);

/** Texts of any UTF-16 units. */
const anything = fc
  .array(fc.nat(0xffff), { maxLength: 600, size: "max" })
  .map((units) => String.fromCharCode(...units));

/** Whether it is well formed and fits the schema of turn_failed. */
function isRecordable(refusal: Refusal): boolean {
  const failed = { turn_id: "t1", code: "x", message: "x", refused: [refusal] };
  return Object.values(refusal).every((text) => text.isWellFormed()) && validate("turn_failed", failed).ok;
}

describe("a refusal can be recorded", () => {
  const channel = {
    session_id: "s",
    role_id: "hand",
    turn_id: "t1",
    subject: "a",
  };
  const envelope: JsonObject = {
    session_id: "s",
    source: "hand",
    target: "scheduler",
    payload_type: "report",
    version: "1.0",
    payload: { status: "completed" },
  };
  const wrongBy: readonly ((text: string) => JsonObject)[] = [
    ...["session_id", "source", "target", "payload_type", "version", "timestamp"].map((key) => (text: string) => ({
      ...envelope,
      [key]: text,
    })),
    (text) => ({ ...envelope, [text]: 1 }),
    (text) => ({ ...envelope, payload: { status: "completed", [text]: 1 } }),
    (text) => ({ ...envelope, payload: { status: text } }),
    (text) => ({
      ...envelope,
      payload: { status: "completed", turn_id: text },
    }),
    (text) => ({
      ...envelope,
      payload: { status: "completed", issues: [{ [text]: 1 }] },
    }),
    (text) => ({
      ...envelope,
      payload_type: "error",
      payload: { code: "x", message: "x", details: { retry_at: text } },
    }),
  ];

  it("for every wrong text, wherever it is cut", () => {
    fc.assert(
      fc.property(fc.constantFrom(...wrongBy), edgy, (wrong, text) => {
        const accepted = acceptAnswer(wrong(text), channel);
        expect(accepted.ok || isRecordable(accepted.error)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  it("for every line that is no message", () => {
    const half = fc.constantFrom("\ud83d", "\ude00", "");
    fc.assert(
      fc.property(edgy, half, half, (text, before, after) => {
        const lines: Json[] = [{ [text + before]: after }, { a: { [before + text]: [text + after] } }];
        for (const line of [...lines.map((value) => JSON.stringify(value)), `{${text}`, `{"${text}":1,"${text}":1}`]) {
          const parsed = parseLine(Buffer.from(line));
          expect(parsed.ok || isRecordable(parsed.error)).toBe(true);
        }
      }),
    );
  });

  it("for every failure of a mode, and fits a request", () => {
    const sizes = fc.constantFrom(1, 499, 500, 1_999, 2_000, 19_999, 20_000, 40_000);
    const long = fc.tuple(anything, sizes).map(([text, size]) => text.padEnd(size, `${text}😀`));
    const example = schemaFiles.find(({ name }) => name === "turn_request")?.schema.examples?.[0] as JsonObject;
    fc.assert(
      fc.property(long, long, long, (message, hint, pointer) => {
        const refused = refusalFrom("plan", failure("invalid_plan", message, { hint, details: { pointer } }));
        expect(isRecordable(refused)).toBe(true);
        const context = {
          ...(example["context"] as JsonObject),
          refused: [refused],
        };
        expect(validate("turn_request", { ...example, context }).ok).toBe(true);
      }),
    );
  });

  it("for every text it is made of", () => {
    fc.assert(
      fc.property(anything, anything, fc.tuple(anything, fc.nat(40_000)), (type, pointer, [text, more]) => {
        expect(isRecordable(refusal(type, "conflict", pointer, text.padEnd(more, text)))).toBe(true);
        expect(quote(text).isWellFormed()).toBe(true);
      }),
    );
  });
});
