import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CAUSES } from "../../src/agents/causes/causes.ts";
import { complaintIn } from "../../src/agents/causes/complaint.ts";
import { causeOf, failureOf, failureOnStderr } from "../../src/agents/causes/failures.ts";
import { ROWS } from "../../src/agents/causes/rows.ts";
import { timeTold } from "../../src/agents/causes/told-times.ts";
import type { Json } from "../../src/lib/json.ts";

const NOW = Date.parse("2026-11-24T17:00:00Z");
const ABOUT = { who: "Role builder (codex)", now: NOW };

function heard(said: Json): ReturnType<typeof failureOf> {
  return failureOf(complaintIn(said, NOW), ABOUT);
}

function until(said: Json): string | undefined {
  return heard(said).details?.["retry_at"] as string | undefined;
}

describe("the cause of a complaint", () => {
  test.each<[string, Json]>([
    ["credit", "Your workspace is out of credits. Ask your workspace owner to refill in order to continue."],
    ["credit", "You’ve hit your spend cap set by the owner of your workspace."],
    ["credit", "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus."],
    ["credit", { statusCode: 402, message: "Payment Required" }],
    [
      "credit",
      { statusCode: 429, message: "You exceeded your current quota, please check your plan and billing details." },
    ],
    ["credit", { status: 429, error: { type: "insufficient_quota", message: "No." } }],
    [
      "credit",
      { message: "Internal error: Credit balance is too low", code: -32_603, data: { errorKind: "billing_error" } },
    ],
    ["credit", { codexErrorInfo: "usageLimitExceeded", message: "Your workspace is out of credits." }],
    ["credit", { statusCode: 402, message: "账户余额不足" }],
    ["limit", { codexErrorInfo: "usageLimitExceeded", message: "Ask your owner." }],
    ["limit", { codexErrorInfo: "rateLimitExceeded", message: "Slow." }],
    ["limit", { code: -32_003, message: "Wait." }],
    ["limit", { code: -32_603, message: "429 Too Many Requests: Too Many Requests" }],
    [
      "limit",
      {
        code: 500,
        message: '{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}',
      },
    ],
    ["limit", { code: 500, message: 'got status: 429 Too Many Requests. {"error":{"message":"No."}}' }],
    ["limit", { message: "Failed.", codexErrorInfo: { responseTooManyFailedAttempts: { httpStatusCode: 429 } } }],
    [
      "limit",
      "API Error: 400 You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    ],
    ["capacity", "Selected model is at capacity. Please try a different model."],
    ["login", { codexErrorInfo: "unauthorized", message: "You have hit your usage limit." }],
    ["login", { kind: "cloud_credential_error", message: "No." }],
    ["login", { code: -32_000, message: "Authentication required" }],
    ["account", { kind: "oauth_org_not_allowed", api_error_status: 403 }],
    ["account", { kind: "account_on_hold", api_error_status: 403, message: "Your account is on hold." }],
    ["outage", { api_error_status: 529, kind: "overloaded" }],
    ["outage", { statusCode: 503, message: "<html>no</html>" }],
    ["outage", { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
    ["outage", "API Error: 500 Internal server error"],
    ["outage", "API Error: Unable to connect to API (ConnectionRefused)"],
    [
      "outage",
      "stream disconnected before completion: error sending request for url (http://127.0.0.1:9/v1/responses)",
    ],
    ["outage", { name: "UnknownError", data: { message: '{"error":"ECONNREFUSED","message":"Unable to connect."}' } }],
    ["outage", { message: "fetch failed", cause: { code: "ENOTFOUND" } }],
    ["outage", "getaddrinfo EAI_AGAIN api.example.com"],
    ["outage", { message: "No.", codexErrorInfo: { httpConnectionFailed: { httpStatusCode: null } } }],
    ["context", { kind: "blocking_limit", message: "Prompt is too long" }],
    ["context", "Codex ran out of room in the model's context window."],
    ["model", { codexErrorInfo: "modelNotFound", message: "No." }],
    ["model", '{"detail":"The \'gpt-x\' model is not supported when using Codex with a ChatGPT account."}'],
    ["budget", { codexErrorInfo: "sessionBudgetExceeded", message: "No." }],
    ["refusal", { codexErrorInfo: "cyberPolicy", message: "No." }],
    ["unknown", "git diff failed with status 128: fatal: bad revision 'main'"],
    ["unknown", ""],
  ])("is %s for %j", (cause, said) => {
    expect(causeOf(complaintIn(said, NOW)) ?? "unknown").toBe(cause);
  });

  test("is never read from the prompt in an error of a provider", () => {
    const said = {
      message: "No.",
      requestBodyValues: { message: "429 Too Many Requests", code: "insufficient_quota" },
    };
    expect(causeOf(complaintIn(said, NOW))).toBeUndefined();
  });

  test("is what a program's own rows say before the common ones", () => {
    const own = [{ cause: "trust", words: /not trusted/ }] as const;
    expect(causeOf(complaintIn("429 Too Many Requests: not trusted", NOW), own)).toBe("trust");
  });

  test("is what the last line on stderr with a known cause says", () => {
    const stderr = "warning: slow\nError: connect ECONNREFUSED 127.0.0.1:9\n    at node:net:1\nNode.js v24";
    expect(failureOnStderr(stderr, ABOUT)?.code).toBe("unavailable");
    expect(failureOnStderr("warning: slow", ABOUT)).toBeUndefined();
  });

  test("has rows without a separator or a capital in their kinds, or they would never match", () => {
    for (const { kinds = "" } of ROWS) expect(kinds).toMatch(/^[a-z ]*$/);
  });
});

describe("a failure", () => {
  test("says what was said, and not that an internal error is internal", () => {
    const { message } = heard({
      code: -32_603,
      message: "Internal error",
      data: { message: "You've hit your usage limit." },
    });
    expect(message).toContain("Role builder (codex)");
    expect(message).toContain("You've hit your usage limit.");
    expect(message).not.toContain("Internal error");
  });

  test("shows the message in a body of JSON, and ends in one full stop", () => {
    expect(heard('API Error: 429 {"type":"error","error":{"type":"x","message":"Too fast."}}').message).toMatch(
      /: API Error: 429 Too fast\.$/,
    );
    expect(heard({ kind: "error_max_turns", message: "" }).message).toMatch(/[a-z]\.$/);
  });

  test("holds nothing for a failure of the work itself", () => {
    expect(until({ codexErrorInfo: "modelNotFound", retryAfterMs: 5_000 })).toBeUndefined();
  });
});

describe("the end of a hold", () => {
  test.each<[string, Json, string | undefined]>([
    ["seconds of a header", { statusCode: 429, responseHeaders: { "retry-after": "2" } }, "2026-11-24T17:00:02Z"],
    [
      "milliseconds of a header",
      { statusCode: 429, responseHeaders: { "retry-after-ms": "1800000" } },
      "2026-11-24T17:30:00Z",
    ],
    [
      "the date of a header",
      { statusCode: 429, headers: { "Retry-After": "Tue, 24 Nov 2026 18:00:00 GMT" } },
      "2026-11-24T18:00:00Z",
    ],
    ["a field in camel case", { data: { code: "rate_limited", retryAfterMs: 1_000 } }, "2026-11-24T17:00:01Z"],
    ["a length of Google's", { code: 429, details: [{ retryDelay: "17s" }] }, "2026-11-24T17:00:17Z"],
    ["seconds since 1970", { code: "rate_limit", resetsAt: NOW / 1_000 + 60 }, "2026-11-24T17:01:00Z"],
    ["milliseconds since 1970", { code: "rate_limit", resets_at: NOW + 60_000 }, "2026-11-24T17:01:00Z"],
    ["a time in words", "429 Too Many Requests. Please retry in 20.5s.", "2026-11-24T17:00:20.500Z"],
    ["nothing, for a limit", "429 Too Many Requests", "2026-11-24T17:01:00Z"],
    ["nothing, for money", "Credit balance is too low", undefined],
    ["nothing, for an outage, which has the session's back-off", { statusCode: 503 }, undefined],
    ["a time, for an outage", { statusCode: 503, headers: { "retry-after": 30 } }, "2026-11-24T17:00:30Z"],
    ["no number at all", { statusCode: 429, headers: { "retry-after": "soon" } }, "2026-11-24T17:01:00Z"],
  ])("is told by %s", (_form, said, end) => {
    expect(until(said)).toBe(end);
  });

  test.each([
    ["try again in 11.054s. Visit", "2026-11-24T17:00:11.054Z"],
    ["try again in 3 days 4 hours 32 minutes.", "2026-11-27T21:32:00Z"],
    ["try again in 1 hour, 5 minutes and 2 seconds", "2026-11-24T18:05:02Z"],
    ["try again in 1m30s", "2026-11-24T17:01:30Z"],
    ["Your quota will reset after 5h12m30s.", "2026-11-24T22:12:30Z"],
    ["Please wait 300 ms", "2026-11-24T17:00:00.300Z"],
    ["You will regain access on 2026-12-01 at 00:00 UTC.", "2026-12-01T00:00:00Z"],
    ["access returns at 2026-12-01T08:30:00+02:00", "2026-12-01T06:30:00Z"],
    ["limit reached|1795538400", "2026-11-24T16:40:00Z"],
    ["You've hit your session limit · resets 7:35pm (UTC)", "2026-11-24T19:36:00Z"],
    ["resets 3pm (UTC)", "2026-11-25T15:01:00Z"],
    ["resets Dec 1, 12am (Europe/Berlin)", "2026-11-30T23:01:00Z"],
    ["resets 7am (America/New_York)", "2026-11-25T12:01:00Z"],
    ["try again at Jan 2nd, 2027 8:11 AM (UTC)", "2027-01-02T08:12:00Z"],
    ["resets Jan 2 at 8:00 (UTC)", "2027-01-02T08:01:00Z"],
  ])("%s", (words, end) => {
    expect(new Date(timeTold(words, NOW) ?? 0).toISOString().replace(".000Z", "Z")).toBe(end);
  });

  test("is a minute of the local day where no zone is told", () => {
    const local = (hour: number, minute: number, day = 24) => new Date(2026, 10, day, hour, minute).getTime();
    expect(timeTold("or try again at 7:05 PM.", local(9, 0))).toBe(local(19, 6));
    expect(timeTold("or try again at Nov 29th, 2026 8:11 AM.", local(9, 0))).toBe(local(8, 12, 29));
  });

  test("is now, not tomorrow, for a clock time that has just passed", () => {
    expect(timeTold("resets 4:55pm (UTC)", NOW)).toBe(Date.parse("2026-11-24T16:56:00Z"));
  });

  test.each([
    "Try again later.",
    "limit of 5 requests per 1 minute",
    "at 7",
    "on 2026-01-01 you had 10 hours",
    "resets Foo 9 at 8am",
  ])("%s tells no time", (words) => expect(timeTold(words, NOW)).toBeUndefined());
});

test("docs/agents/limits.md says of every cause what it does", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/agents/limits.md"), "utf8");
  for (const [name, { code, says }] of Object.entries(CAUSES)) {
    expect(page).toMatch(
      new RegExp(`^\\| ${name} \\| ${says.replaceAll(/[.*+?()]/g, "\\$&")} \\| \`${code}\` \\|`, "m"),
    );
  }
});
