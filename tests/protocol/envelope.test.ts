import { describe, expect, it, test } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import {
  acceptAnswer,
  type Channel,
  validateEnvelope,
  validateHeader,
  validatePayload,
} from "../../src/protocol/envelope.ts";
import { AGENT_PAYLOAD_TYPES, isNotice, PAYLOAD_TYPES } from "../../src/protocol/payload.ts";
import { schemaFiles } from "./examples.ts";

const envelope = {
  session_id: "s1",
  timestamp: "2025-12-06T20:34:56+08:00",
  source: "worker_1",
  target: "scheduler",
  payload_type: "report",
  version: "1.0",
  payload: { status: "completed", summary: "Done." },
};

const channel: Channel = { session_id: "s1", role_id: "worker_1", turn_id: "t7", subject: "survey" };

describe("an envelope", () => {
  it("is valid and gets its time in UTC", () => {
    expect(validateEnvelope(envelope)).toEqual({ ok: true, value: { ...envelope, timestamp: "2025-12-06T12:34:56Z" } });
  });

  it("is not modified by the check", () => {
    const frozen = Object.freeze({ ...envelope, payload: Object.freeze({ ...envelope.payload }) });
    expect(validateEnvelope(frozen).ok).toBe(true);
  });

  test.each([
    ["not an object", null, "", "type"],
    ["a list", [], "", "type"],
    ["without a source", { ...envelope, source: undefined }, "/source", "required"],
    ["with an unknown field", { ...envelope, signature: "x" }, "/signature", "additionalProperties"],
    ["of another version", { ...envelope, version: "2.0" }, "/version", "const"],
    ["with a version that is a number", { ...envelope, version: 1 }, "/version", "const"],
    ["with a payload that is a list", { ...envelope, payload: [] }, "/payload", "type"],
    ["with a session id that leaves its folder", { ...envelope, session_id: "../s1" }, "/session_id", "pattern"],
    ["with an empty session id", { ...envelope, session_id: "" }, "/session_id", "pattern"],
    ["with a line feed in its source", { ...envelope, source: "user\n" }, "/source", "pattern"],
    ["with a look-alike source", { ...envelope, source: "wоrker_1" }, "/source", "pattern"],
    ["of an unknown type", { ...envelope, payload_type: "reprot" }, "/payload_type", "payload_type"],
    [
      "of a type that every object inherits",
      { ...envelope, payload_type: "constructor" },
      "/payload_type",
      "payload_type",
    ],
    ["with a naive time", { ...envelope, timestamp: "2025-12-06T12:34:56" }, "/timestamp", "instant"],
    ["with a day outside the calendar", { ...envelope, timestamp: "2025-02-30T12:34:56Z" }, "/timestamp", "instant"],
  ])("%s is refused with pointer and rule", (_, value, pointer, rule) => {
    const refused = validateHeader(value);
    expect(refused).toMatchObject({ ok: false, error: { code: "validation_failed", pointer } });
    expect(refused.ok || refused.error.message).toContain(`[${rule}]`);
  });

  it("needs fields of its own, not inherited ones", () => {
    expect(validateHeader(Object.create(envelope))).toMatchObject({ ok: false, error: { pointer: "/session_id" } });
  });

  it("is refused for its payload by the schema of its type only", () => {
    const wrong = { ...envelope, payload: { decision: "approved" } };
    expect(validateHeader(wrong).ok).toBe(true);
    expect(validateEnvelope(wrong)).toEqual({
      ok: false,
      error: {
        payload_type: "report",
        code: "validation_failed",
        pointer: "/payload/status",
        message: "/payload/status is missing. [required]",
      },
    });
  });

  it("suggests the payload type that was meant", () => {
    const refused = validateHeader({ ...envelope, payload_type: "instrution" });
    expect(refused.ok || refused.error.message).toContain("Did you mean instruction?");
  });
});

describe("an agent's envelope", () => {
  it("is accepted with or without turn, ticket and time", () => {
    const payload = { ...envelope.payload, turn_id: "t7", ticket_id: "survey" };
    const { timestamp: _, ...timeless } = envelope;
    expect(acceptAnswer({ ...envelope, payload }, channel)).toEqual({
      ok: true,
      value: { payload_type: "report", payload },
    });
    expect(acceptAnswer(timeless, channel)).toEqual({
      ok: true,
      value: { payload_type: "report", payload: envelope.payload },
    });
  });

  test.each<[string, JsonObject, string]>([
    ["another session", { session_id: "s2" }, "/session_id"],
    ["another role", { source: "worker_2" }, "/source"],
    ["the manager", { source: "manager" }, "/source"],
    ["the user", { source: "user" }, "/source"],
    ["the scheduler", { source: "scheduler" }, "/source"],
    ["its role in another case", { source: "Worker_1" }, "/source"],
    ["itself to the user", { target: "user" }, "/target"],
    ["itself to another role", { target: "manager" }, "/target"],
    ["another turn", { payload: { ...envelope.payload, turn_id: "t6" } }, "/payload/turn_id"],
    ["another ticket", { payload: { ...envelope.payload, ticket_id: "report" } }, "/payload/ticket_id"],
    ["a turn whose name is a number", { payload: { ...envelope.payload, turn_id: 7 } }, "/payload/turn_id"],
  ])("may not claim to be from %s", (_, claim, pointer) => {
    expect(acceptAnswer({ ...envelope, ...claim }, channel)).toMatchObject({
      ok: false,
      error: { payload_type: "report", code: "not_permitted", pointer, message: expect.stringContaining("[identity]") },
    });
  });

  it("may not name a ticket in a turn without one", () => {
    const { subject: _, ...about } = channel;
    const payload = { ...envelope.payload, ticket_id: "survey" };
    expect(acceptAnswer({ ...envelope, payload }, about)).toMatchObject({
      ok: false,
      error: { code: "not_permitted", pointer: "/payload/ticket_id", message: expect.stringContaining("[identity]") },
    });
  });

  it.each(PAYLOAD_TYPES.filter((type) => !(AGENT_PAYLOAD_TYPES as readonly string[]).includes(type)))(
    "may not be a %s, which only the user or the scheduler sends",
    (payload_type) => {
      const payload = schemaFiles.find((file) => file.name === payload_type)?.schema.examples?.[0] as JsonObject;
      expect(validatePayload(payload_type, payload).ok).toBe(true);
      const { ticket_id: _ticket, turn_id: _turn, ...anonymous } = payload;
      expect(acceptAnswer({ ...envelope, payload_type, payload: anonymous }, channel)).toMatchObject({
        ok: false,
        error: { payload_type, code: "not_permitted", pointer: "/payload_type" },
      });
    },
  );

  it.each(AGENT_PAYLOAD_TYPES)("may be a %s with turn, ticket, usage and metadata", (payload_type) => {
    const example = schemaFiles.find((file) => file.name === payload_type)?.schema.examples?.[0] as JsonObject;
    const more = {
      turn_id: "t7",
      ticket_id: "survey",
      usage: { cost_usd: 0.25, cached_tokens: 3 },
      metadata: { any: [1] },
    };
    const payload = { ...example, ...more };
    expect(acceptAnswer({ ...envelope, payload_type, payload }, channel)).toEqual({
      ok: true,
      value: { payload_type, payload },
    });
  });

  it("is refused as malformed before its rights are checked", () => {
    expect(acceptAnswer({ ...envelope, source: 7 }, channel)).toMatchObject({
      ok: false,
      error: { code: "validation_failed", pointer: "/source" },
    });
    expect(acceptAnswer({ ...envelope, payload: { status: "finished" } }, channel)).toMatchObject({
      ok: false,
      error: { code: "validation_failed", pointer: "/payload/status" },
    });
    expect(acceptAnswer({ ...envelope, timestamp: "yesterday" }, channel)).toMatchObject({
      ok: false,
      error: { code: "validation_failed", pointer: "/timestamp" },
    });
  });

  it("gets its retry time in UTC, and is refused without a zone", () => {
    const failed = (retry_at: string) => ({
      ...envelope,
      payload_type: "error",
      payload: { code: "rate_limited", message: "Later.", details: { retry_at, exit_code: 1 } },
    });
    expect(acceptAnswer(failed("2026-01-02T03:04:05.5-01:00"), channel)).toMatchObject({
      ok: true,
      value: { payload: { details: { retry_at: "2026-01-02T04:04:05.500Z", exit_code: 1 } } },
    });
    expect(acceptAnswer(failed("2026-01-02T03:04:05"), channel)).toMatchObject({
      ok: false,
      error: {
        code: "validation_failed",
        pointer: "/payload/details/retry_at",
        message: expect.stringContaining("[instant]"),
      },
    });
  });
});

describe("isNotice", () => {
  it("is true for artifacts and progress only", () => {
    expect(isNotice({ payload_type: "artifact_ref", payload: { label: "a", uri: "a" } })).toBe(true);
    expect(isNotice({ payload_type: "report", payload: { status: "progress" } })).toBe(true);
    expect(isNotice({ payload_type: "report", payload: { status: "completed" } })).toBe(false);
    expect(isNotice({ payload_type: "error", payload: { code: "internal", message: "x" } })).toBe(false);
  });
});
