import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import { recordLines } from "../../src/ui/record-lines.ts";
import { tableLines } from "../../src/ui/table.ts";

function record(
  payload_type: string,
  payload: JsonObject,
  meta: Partial<RecordMeta> = {},
  source = "w",
): UnsealedRecord {
  return {
    session_id: "s",
    timestamp: "2026-01-02T03:04:05Z",
    source,
    target: "scheduler",
    payload_type,
    version: "1.0",
    payload,
    record: { kind: "fact", received_at: "2026-01-02T03:04:05Z", disposition: "applied", ...meta },
  };
}

const moved = (from: string | null, to: string, reason?: string) => ({
  effects: [{ ticket_id: "t", from, event: "e", to, ...(reason === undefined ? {} : { reason }) }],
  ticket_id: "t",
  attempt: 2,
});

describe("a record, told to a person", () => {
  it.each([
    [
      "a transition with who and why",
      record("report", { status: "completed", summary: "All done." }, moved("in_progress", "awaiting_review")),
      ['t: in_progress -> awaiting_review attempt=2 by=w "All done."'],
    ],
    [
      "a session that is taken up with a turn open",
      record("session_recovered", { turns: [{ turn_id: "t1" }] }, {}, "scheduler"),
      ["-: RESUMED 1 turn to repeat"],
    ],
    [
      "what holds up others for long",
      record(
        "report",
        { status: "blocked", issues: ["a is in_progress since noon and holds up b"] },
        { kind: "decided", ticket_id: "a" },
        "scheduler",
      ),
      ['a: LONG WAIT "a is in_progress since noon and holds up b"'],
    ],
    ["progress, which is not told", record("report", { status: "progress", summary: "half" }, { ticket_id: "a" }), []],
    ["a session that is taken up", record("session_recovered", { turns: [] }, {}, "scheduler"), ["-: RESUMED"]],
    [
      "a person's review, with whose it is",
      record(
        "review",
        { decision: "approved" },
        { ...moved("awaiting_review", "done"), actor: { user: "ada", host: "h", via: "cli" } },
        "user",
      ),
      ["t: awaiting_review -> done by=ada (cli)"],
    ],
    [
      "a review's wishes",
      record(
        "review",
        { decision: "changes_requested", requested_changes: ["sort it", { text: "name it" }] },
        moved("awaiting_review", "in_progress"),
        "m",
      ),
      ['t: awaiting_review -> in_progress by=m "sort it; name it"'],
    ],
    [
      "failed checks that send work back",
      record(
        "check_result",
        {
          check_id: "k",
          results: [
            { criterion: { text: "it is there" }, passed: false },
            { criterion: "x", passed: true },
          ],
        },
        moved("awaiting_review", "in_progress", "checks_failed"),
        "scheduler",
      ),
      ['t: awaiting_review -> in_progress reason=checks_failed "it is there"'],
    ],
    [
      "a plan as one line, however many tickets it makes",
      record(
        "plan",
        { summary: "Two.", tasks: [{}, {}] },
        { effects: ["t", "u"].map((ticket_id) => ({ ticket_id, from: null, event: "created", to: "pending" })) },
        "m",
      ),
      ['-: PLAN 2 tasks by m "Two."'],
    ],
    [
      "a revised plan as a plan, with what it does to those there are, beside how it moved them",
      record(
        "plan",
        { summary: "v2", tasks: [{}, {}, {}] },
        {
          ticket_id: "b",
          effects: [
            { ticket_id: "c", from: "pending", event: "withdrawn", to: "error", reason: "withdrawn" },
            { ticket_id: "b", from: "blocked", event: "replanned", to: "pending" },
            { ticket_id: "b2", from: null, event: "created", to: "pending" },
          ],
        },
        "m",
      ),
      [
        'b: PLAN 3 tasks by m "v2", new: b2; begun anew: b; left out: c',
        "c: pending -> error reason=withdrawn",
        "b: blocked -> pending",
      ],
    ],
    [
      "a refused message as refused",
      record(
        "error",
        { code: "malformed_output", message: "The line is not JSON." },
        { disposition: "refused" },
        "scheduler",
      ),
      ['-: REFUSED a message "The line is not JSON."'],
    ],
    [
      "a late answer as late",
      record("report", { status: "completed" }, { disposition: "late", ticket_id: "t" }),
      ["t: LATE report of w"],
    ],
    [
      "a person's command with who gave it",
      record(
        "user_command",
        { command: "tell", text: "Mind." },
        { actor: { user: "ada", host: "h", via: "cli" } },
        "user",
      ),
      ['-: TELL by ada (cli) "Mind."'],
    ],
    [
      "a person's command with what it moved, and why they gave it",
      record(
        "user_command",
        { command: "cancel", reason: "Not needed." },
        { ...moved("pending", "error", "cancelled"), actor: { user: "ada", host: "h", via: "cli" } },
        "user",
      ),
      ['t: CANCEL by ada (cli) "Not needed."', "t: pending -> error reason=cancelled"],
    ],
    [
      "a person's no to a plan with what they said, beside the tickets that it ends",
      record(
        "approval",
        { decision: "rejected", notes: "Too long." },
        { effects: moved("pending", "error", "plan_rejected").effects, actor: { user: "ada", host: "h", via: "cli" } },
        "user",
      ),
      ['-: REJECTED by ada (cli) "Too long."', "t: pending -> error reason=plan_rejected"],
    ],
    [
      "a person's yes to a plan that they changed",
      record("approval", { decision: "approved", plan: { tasks: [] }, notes: "Mine." }, {}, "user"),
      ['-: APPROVED by user, as they edited it "Mine."'],
    ],
    [
      "a person's answer, and that they want to hear no more questions",
      record(
        "clarification_response",
        { answers: [{ question_id: "c1.q", text: "yes" }], status: "complete" },
        { actor: { user: "ada", host: "h", via: "cli" } },
        "user",
      ),
      ['-: ANSWERED by ada (cli) "c1.q: yes", and wants no more questions'],
    ],
    [
      "that a person wants to hear no more questions",
      record("clarification_response", { answers: [], status: "complete" }, {}, "user"),
      ["-: ANSWERED by user, and wants no more questions"],
    ],
    ["progress not at all", record("report", { status: "progress", summary: "half" }), []],
    ["a ticket's own requests not at all", record("turn_request", {}, { ticket_id: "t" }, "scheduler"), []],
    [
      "the end",
      record("session_closed", { outcome: "failed", reason: "tickets_failed", exit_code: 1 }, {}, "scheduler"),
      ["-: CLOSED failed reason=tickets_failed"],
    ],
  ] as const)("says %s", (_what, given, told) => {
    expect(
      recordLines(given).map(({ ticket, text }) => `${ticket ?? "-"}: ${text.replace(/ {2}/, " ")}`.trimEnd()),
    ).toEqual(told);
  });

  it("holds up against payloads of no shape at all", () => {
    for (const payload_type of [
      "report",
      "review",
      "plan",
      "check_result",
      "clarification",
      "artifact_ref",
      "opinion",
      "verdict",
      "error",
      "session_stopped",
    ]) {
      for (const payload of [
        {},
        { summary: 7, results: "x", tasks: null, message: [], questions: {} },
      ] as JsonObject[]) {
        expect(() => recordLines(record(payload_type, payload))).not.toThrow();
      }
    }
  });
});

describe("failed checks", () => {
  const gone = { command: ["nosuch", "x"], text: "it runs" };
  const results = [
    { criterion: gone, passed: false, exit_code: 127, output: "check: 1: exec: nosuch: not found" },
    { criterion: { text: "it is there", command: ["sh", "-c", "x"] }, passed: false, exit_code: 1, output: "a\nb\nc" },
    { criterion: { text: "it ends", command: ["sleep", "9"] }, passed: false, exit_code: null, timed_out: true },
    {
      criterion: { text: "it calls", command: ["sh", "-c", "y"] },
      passed: false,
      exit_code: 127,
      output: "sh: 1: y: not found",
    },
    { criterion: "well", passed: true, exit_code: 0, output: "not shown" },
  ];

  it("are told with why they do not hold, and the last that they printed", () => {
    expect(recordLines(record("check_result", { results }, {}, "scheduler")).map(({ text }) => text)).toEqual([
      'checks: 4 of 5 FAILED "it runs: not found: nosuch; it is there: exit code 1; it ends: not finished in time; it calls: exit code 127"',
      "| check: 1: exec: nosuch: not found",
      "| b",
      "| c",
      "| sh: 1: y: not found",
    ]);
  });
});

describe("what an interpreter prints around an exception", () => {
  const lastWordsOf = (program: string, args: readonly string[]) => {
    const { stderr } = spawnSync(program, args, { encoding: "utf8" });
    const failed = record("turn_failed", { code: "agent_failed", details: { stderr_tail: stderr } }, {}, "scheduler");
    return recordLines(failed)
      .slice(1)
      .map(({ text }) => text);
  };

  it.each([
    ["a program that is not there", ["/nosuch/manager.mjs"], /^\| Error: Cannot find module '\/nosuch\/manager.mjs'$/m],
    ["an error", ["-e", "setImmediate(() => { null.name })"], /^\| TypeError: Cannot read properties of null/m],
    [
      "an error with fields of its own",
      ["-e", "throw Object.assign(new Error('no key'), { code: 'E', list: [{ a: { b: 1 } }] })"],
      /^\| Error: no key$/m,
    ],
  ])("is left out for its message: of Node, %s", (_what, args, message) => {
    expect(lastWordsOf(process.execPath, args).join("\n")).toMatch(message);
  });

  it("is left out for its message: of Python", () => {
    const thrown = "def f(): g()\ndef g(): raise ValueError('no key')\nf()";
    expect(lastWordsOf("python3", ["-c", thrown])).toContain("| ValueError: no key");
  });
});

describe("a table", () => {
  it("is not cut where there is no terminal", () => {
    const columns = [{ heading: "ID", widest: 6 }, { heading: "WHAT" }];
    const lines = tableLines(columns, [["a-long-name", "x".repeat(500)]], Number.POSITIVE_INFINITY);
    expect(lines[1]).toBe(`a-long-name  ${"x".repeat(500)}`);
  });

  it("keeps its columns true with wide characters, and cuts the last to the width", () => {
    const lines = tableLines(
      [{ heading: "ID", widest: 6 }, { heading: "WHAT" }],
      [
        ["漢字", "x".repeat(50)],
        ["toolongid", "\u001b[31my\n z"],
      ],
      24,
    );
    expect(lines).toEqual(["ID      WHAT", `漢字    ${"x".repeat(15)}…`, "toolo…  y z"]);
  });
});
