import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { answersLabel, promptQuestion } from "../../src/ui/prompt.ts";
import { endingLines } from "../../src/ui/ending.ts";
import { planLines } from "../../src/ui/plan.ts";
import { RecordFormatter } from "../../src/ui/record-formatter.ts";
import { BRIEF } from "../../src/ui/record-event.ts";
import type { Ending } from "../../src/ui/reporter.ts";
import { outputOn, type Terminal } from "../../src/ui/terminal.ts";
import { timelineLines } from "../../src/ui/timeline.ts";
import { type OpenQuestion, showHolds, showKept, showWaiting, type Waiting } from "../../src/ui/waiting.ts";
import { effect, moved, PERSON, record } from "./records.ts";

const QUESTION: OpenQuestion = {
  kind: "question",
  ask_id: "c1",
  question_id: "c1.branch",
  text: "Which of the branches is the release cut from?\n発表するブランチはどれですか。次の版に入れる変更をすべて含むものを選んでください。",
  why: "The notes depend on it: they list what has changed since the last release on that branch.",
  options: ["main", "the next one, which has all the changes that wait for a release but is not yet tested", "次の版"],
  default: "main",
  ticket_id: "notes",
};

/** One record of each kind, as a session may have them. */
const RECORDS: readonly UnsealedRecord[] = [
  record("session_opened", {}, { state: "planning" }),
  record("turn_request", {}, { turn_id: "t0" }, "scheduler", "manager"),
  record("clarification", { questions: [{ text: "Which branch?" }, "いつ発表しますか。"] }, {}, "manager"),
  record(
    "clarification_response",
    { answers: [{ question_id: "c1.q", text: "main" }], status: "complete" },
    PERSON,
    "user",
  ),
  record(
    "plan",
    { summary: "Two tasks.", tasks: [{}, {}] },
    { effects: [effect("t", null, "pending"), effect("u", null, "pending")] },
    "manager",
  ),
  record("approval", { decision: "approved", plan: { tasks: [] }, notes: "Mine." }, PERSON, "user"),
  record(
    "approval",
    { decision: "rejected", notes: "Too long." },
    { ...PERSON, effects: [effect("t", "pending", "error", "plan_rejected")] },
    "user",
  ),
  record("turn_request", {}, { ticket_id: "t", turn_id: "t1" }, "scheduler", "a"),
  record("report", { status: "progress", summary: "half" }, { ticket_id: "t", turn_id: "t1" }, "a"),
  record(
    "report",
    {
      status: "completed",
      summary: "変更をすべて一覧にまとめました。詳しくは出力を見てください。 The list of all changes is written down.",
    },
    moved("in_progress", "awaiting_review"),
    "a",
  ),
  record("artifact_ref", { label: "notes", uri: "notes.md", size_bytes: 1200 }, { ticket_id: "t" }, "a"),
  record("check_result", { results: [{ criterion: "it is there", passed: true }] }, { ticket_id: "t" }, "scheduler"),
  record(
    "check_result",
    {
      results: [
        {
          criterion: { text: "it runs", command: ["nosuch"] },
          passed: false,
          exit_code: 127,
          output: "check: 1: exec: nosuch: not found",
        },
        { criterion: { text: "it ends", command: ["sleep", "9"] }, passed: false, exit_code: null, timed_out: true },
        { criterion: "it is there", passed: true },
      ],
    },
    moved("awaiting_review", "in_progress", "checks_failed"),
    "scheduler",
  ),
  record(
    "check_result",
    { results: [{ criterion: "it is there", passed: false, exit_code: 1 }] },
    { ticket_id: "t" },
    "scheduler",
  ),
  record("review", { decision: "approved" }, { ...moved("awaiting_review", "done"), ...PERSON }, "user"),
  record(
    "review",
    { decision: "changes_requested", requested_changes: ["sort it", { text: "name it" }] },
    moved("awaiting_review", "in_progress"),
    "manager",
  ),
  record(
    "plan",
    { summary: "Revised.", tasks: [{}, {}, {}] },
    {
      effects: [
        effect("c", "pending", "error", "withdrawn"),
        effect("b", "blocked", "pending"),
        effect("d", null, "pending"),
      ],
    },
    "manager",
  ),
  record(
    "turn_failed",
    { turn_id: "t1", code: "authentication", message: "Not logged in.", details: { stderr_tail: "a\nb\nno key\n" } },
    {
      ...{ turn_id: "t1", run: 1, ticket_id: "t", ended: { turns: ["t1"] } },
      opened: {
        holds: ["a", "b"].map((role_id) => ({ hold_id: role_id, role_id, reason: "authentication", account: "acme" })),
      },
    },
    "scheduler",
  ),
  record("user_command", { command: "release", role_id: "a" }, { ...PERSON, ended: { holds: ["a", "b"] } }, "user"),
  record("turn_request", {}, { ticket_id: "t", turn_id: "t2" }, "scheduler", "b"),
  record(
    "error",
    { code: "malformed_output", message: "The line is not JSON." },
    { disposition: "refused", turn_id: "t2" },
    "scheduler",
  ),
  record(
    "error",
    { code: "agent_failed", message: "It is broken.", resolution_hint: "Mend it." },
    { ticket_id: "t" },
    "b",
  ),
  record("report", { status: "completed" }, { disposition: "late", ticket_id: "t" }, "a"),
  record(
    "report",
    { status: "blocked", issues: ["t is in_progress since noon and holds up u"] },
    { kind: "decided", ticket_id: "t" },
    "scheduler",
  ),
  record("user_command", { command: "tell", role_id: "a", text: "Mind the docs." }, PERSON, "user"),
  record(
    "user_command",
    { command: "cancel", reason: "Not needed." },
    { ...moved("pending", "error", "cancelled"), ...PERSON },
    "user",
  ),
  record("session_begun", { session_id: "s-2", mode: "debate" }, {}, "scheduler"),
  record("session_finished", { session_id: "s-2", outcome: "done" }, {}, "scheduler"),
  record("opinion", { summary: "Rust." }, {}, "go"),
  record("verdict", { conclusion: "Go it is." }, {}, "judge"),
  record("time_shifted", { cause: "sleep", shift_ms: 3_723_000 }, {}, "scheduler"),
  record("time_shifted", { cause: "clock", shift_ms: -60_000 }, {}, "scheduler"),
  record("session_stopped", { reason: "limit", message: "200 of 200 turns are used." }, {}, "scheduler"),
  record("session_recovered", { turns: [{ turn_id: "t1" }] }, {}, "scheduler"),
  record("session_reopened", { reason: "retry of t" }, {}, "user"),
  record("session_closed", { outcome: "failed", reason: "tickets_failed", exit_code: 1 }, {}, "scheduler"),
];

const ENDING: Ending = {
  session_id: "s-1",
  presentation: schedulePresentation,
  free: false,
  exit_code: 4,
  state: "stopped",
  message:
    "The session waited 15 minutes for a decision that only a person can make, and has stopped until it is resumed.",
  cause: undefined,
  failure: undefined,
  outcome: undefined,
  tickets: [
    {
      ticket_id: "collect",
      status: "done",
      title: "Collect what has changed since the last release",
      attempt: 1,
      owner: "shell",
      outputs: ["changes.md"],
    },
    {
      ticket_id: "発表の準備",
      status: "awaiting_review",
      title: "発表の文章を書き、変更をすべて一覧にまとめて確認する",
      attempt: 2,
      owner: "claude",
      interrupted: true,
      outputs: [],
    },
    { ticket_id: "publish", status: "blocked", title: "Publish", attempt: 0, blocked_by: "発表の準備", outputs: [] },
    {
      ticket_id: "check",
      status: "error",
      title: "Check",
      attempt: 3,
      reason: "agent_failed",
      spent: "max_attempts",
      cause: {
        words: "look: exit code 1 (./look)",
        printed: "Not ready for a release:\n- the tests fail \u001b[2K",
      },
      owner: "shell",
      outputs: [],
    },
  ],
  interrupted_turns: 6,
  usage: { turns: 7, cost_usd: 0.5 },
  elapsed_ms: 3_723_000,
  result: undefined,
  roles: [],
  waiting: [QUESTION, { kind: "approval", ask_id: "r", about: "result" }],
  unheard: [{ said: "cancel publish", again: "bosun retry s-1 publish" }],
  children: [{ session_id: "s-2", waiting: [{ kind: "approval", ask_id: "p", about: "plan" }], holds: [] }],
  report: "/home/ada/.local/state/bosun/sessions/s-1/final_report.md",
  kept: ["/home/ada/.local/state/bosun/sessions/s-1/artifacts/2cf24dba5fb0a30e-report.md"],
  log: "/home/ada/.local/state/bosun/logs/s-1",
  next: ["bosun answer s-1 c1.branch main", "bosun resume s-1"],
};

const WAITING: readonly Waiting[] = [
  QUESTION,
  { kind: "approval", ask_id: "p", about: "plan" },
  { kind: "approval", ask_id: "r", about: "result" },
  {
    kind: "review",
    ask_id: "v",
    ticket_id: "notes",
    summary: "The notes are written, and 変更点 are listed with the names of those who made them.",
    outputs: ["notes.md", "changes.md"],
    issues: ["Two changes have no author."],
  },
  {
    kind: "review",
    ask_id: "w",
    ticket_id: "docs",
    summary: "",
    outputs: [],
    issues: [],
    failed_checks: ["it is there: exit code 1"],
  },
];

const PLAN: Parameters<typeof planLines>[0] = {
  summary:
    "The release of the next version, which has all the changes since the spring.\n春からの変更をすべて含む次の版を発表する。",
  review: "manager",
  added: ["publish"],
  changed: ["notes"],
  left_out: ["announce"],
  checks: [{ text: "the tests pass", command: ["npm", "test", "--", "the whole suite"] }],
  tasks: [
    { task_id: "collect", description: "Collect what has changed since the last release", instruction: {} },
    {
      task_id: "発表の準備",
      description: "発表の文章を書き、変更をすべて一覧にまとめて確認する",
      dependencies: ["collect"],
      assigned_to: { capability: "writing" },
      acceptance_criteria: [{ text: "it is there", command: ["true"] }, "it reads well"],
      risks: ["It may name a person who does not want to be named, which is asked before it is published."],
    },
    {
      task_id: "publish",
      description: "Publish",
      dependencies: ["発表の準備"],
      assigned_to: { role_id: "shell" },
      review: "user",
      instruction: {
        summary: "Publish it, and tell everybody who waits for it that the new version is there now.",
        steps: [
          "Look whether it is there already",
          { text: "次の版を発表する", command: ["npm", "publish", "--tag", "it's next"] },
          {
            shell:
              'for one in a b; do\n  curl --silent --show-error --fail --retry 5 "https://example.org/$one" >> "told-$one.txt" \u001b[2Kor exit 1\ndone\n',
          },
        ],
        acceptance_criteria: [
          { text: "nobody is told twice", command: ["sh", "-c", "! grep twice told-*.txt"], expect_exit: 3 },
        ],
      },
      metadata: { playbook: { revisions: [{ summary: "Publish again", steps: [{ shell: "npm publish" }] }] } },
    },
  ] as never,
};

const { added: _added, changed: _changed, left_out: _left_out, ...FIRST_PLAN } = PLAN;

/** A terminal of so many columns without colours, and the lines on it. */
function screen(columns: number): { readonly terminal: Terminal; readonly lines: () => string } {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns }) as unknown as NodeJS.WriteStream;
  const out = outputOn(stream);
  const terminal = { out, err: out, input: new PassThrough(), isDumb: true } as unknown as Terminal;
  return { terminal, lines: () => stripVTControlCharacters(String(stream.read() ?? "")) };
}

describe.each([40, 80, 120])("on %s columns", (columns) => {
  const { terminal, lines } = screen(columns);
  const { out } = terminal;
  const file = (name: string) => `__snapshots__/${name}-${columns}.txt`;

  it("shows a line for each kind of record", async () => {
    const formatter = new RecordFormatter();
    const at = new Date(2026, 0, 2, 20, 31, 2, 118);
    for (const one of RECORDS)
      for (const line of formatter.format(one, {
        ...BRIEF,
        presentation: schedulePresentation,
        output: "/logs/s-1/output",
      }))
        for (const text of timelineLines(out, at, line, "s-1")) out.line(text);
    await expect(lines()).toMatchFileSnapshot(file("records"));
  });

  it("shows how a session ended", async () => {
    for (const line of endingLines(out, ENDING, true)) out.line(line);
    await expect(lines()).toMatchFileSnapshot(file("ending"));
  });

  it("shows what needs a person", async () => {
    for (const waiting of WAITING) showWaiting(out, "s-1", waiting);
    showWaiting(out, "s-1", QUESTION, "main");
    showHolds(out, "s-1", [{ role_id: "a", account: "acme", reason: "authentication", since: "" }]);
    showKept(out, "s-1", [{ said: "cancel publish" }]);
    await expect(lines()).toMatchFileSnapshot(file("waiting"));
  });

  it("shows a plan for approval", async () => {
    for (const line of planLines(PLAN, out)) out.line(line);
    out.line();
    for (const line of planLines(FIRST_PLAN, out)) out.line(line);
    await expect(lines()).toMatchFileSnapshot(file("plan"));
  });

  it("shows the answers before they are sent", async () => {
    const answers = [
      { text: QUESTION.text, answer: "the next one, which has all the changes that wait for a release\nand more" },
      { text: "いつ発表しますか。", answer: "次の版" },
    ];
    for (const line of answersLabel(out, answers).split("\n")) out.line(line);
    await expect(lines()).toMatchFileSnapshot(file("answers"));
  });

  it("asks a question", async () => {
    const leave = new AbortController();
    out.stream.once("readable", () => leave.abort());
    await promptQuestion(terminal, QUESTION, { number: 1, of: 2 }, leave.signal);
    await expect(lines()).toMatchFileSnapshot(file("question"));
  });
});
