import { describe, expect, test } from "vitest";
import { codex } from "../../../src/agents/cli/dialects/codex.ts";
import type { Reader } from "../../../src/agents/cli/dialects/dialect.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { AT, heard, readerOf } from "./reading.ts";

/** The reader of `codex app-server` in a thread. */
function begun(): Reader {
  const reader = readerOf(codex, { cli_command: ["codex"], permissions: { ask: "user" } });
  reader.read(Buffer.from(JSON.stringify({ id: 2, result: { thread: { id: "one" } } })), false);
  return reader;
}

function notice(method: string, params: JsonObject): JsonObject {
  return { method, params: { threadId: "one", turnId: "two", ...params } };
}

describe("codex app-server", () => {
  test("ends its turn at once with an error after which it does not try again", () => {
    const reader = begun();
    let closed = 0;
    reader.connect?.({
      say: () => {},
      close: () => (closed += 1),
      hear: () => {},
      permit: async () => ({ granted: false }),
    });
    const error = { message: "No.", codexErrorInfo: "rateLimitExceeded" };
    heard(reader, [notice("error", { error, willRetry: true })]);
    expect(closed).toBe(0);
    const { failure } = heard(reader, [notice("error", { error, willRetry: false })]);
    expect(closed).toBe(1);
    expect(failure?.code).toBe("rate_limited");
  });

  test("is held until the reset of the window that is full", () => {
    const primary = { usedPercent: 100, windowDurationMins: 300, resetsAt: Date.parse(AT) / 1_000 + 7_200 };
    const error = { message: "No.", codexErrorInfo: "usageLimitExceeded" };
    const { failure } = heard(begun(), [
      notice("account/rateLimits/updated", { rateLimits: { limitId: "codex", primary } }),
      notice("turn/completed", { turn: { status: "failed", error } }),
    ]);
    expect(failure?.details).toEqual({ retry_at: "2026-11-24T19:00:00Z" });
  });

  test("is not refused by its model when its turn was interrupted", () => {
    const { failure } = heard(begun(), [notice("turn/completed", { turn: { status: "interrupted" } })]);
    expect(failure).toMatchObject({ code: "agent_failed", details: { reason: "interrupted" } });
  });
});
