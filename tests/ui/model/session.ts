import type { JsonObject } from "../../../src/lib/json.ts";
import type { RecordMeta, UnsealedRecord } from "../../../src/protocol/record.ts";
import { effect, PERSON, record } from "../records.ts";

const turn = (turn_id: string, ticket_id?: string): Partial<RecordMeta> => ({
  turn_id,
  attempt: 1,
  run: 1,
  ...(ticket_id === undefined ? {} : { ticket_id }),
});
const usage = (cost_usd: number) => ({ usage: { input_tokens: 1000, output_tokens: 200, cost_usd } });
const asks = (target: string, payload_type: string, meta: Partial<RecordMeta>) =>
  record("turn_request", { message: { payload_type, payload: {} } }, meta, "scheduler", target);
const says = (source: string, payload_type: string, payload: JsonObject, meta: Partial<RecordMeta>) =>
  record(payload_type, payload, meta, source);
const moves = (ticket_id: string, from: string | null, to: string, reason?: string) => ({
  effects: [effect(ticket_id, from, to, reason)],
});

/** A running schedule: one ticket is done, one asks a question, one is retried after failed checks, one waits for the others. */
export const SESSION: readonly UnsealedRecord[] = timed([
  record(
    "session_opened",
    {
      mode: "schedule",
      version: "0.1.0",
      requirement: "Build a scheduler for agent CLIs",
      workspace: "/project",
      config: { max_workers: 2, max_attempts: 3, review: "manager", budget: { usd: 20, turns: 100 } },
      roles: [
        { role_id: "codex", type: "manager", backend: "cli" },
        { role_id: "claude", type: "worker", backend: "cli" },
      ],
    },
    {},
    "scheduler",
    "session",
  ),
  asks("codex", "requirement", turn("t1")),
  says(
    "codex",
    "plan",
    {
      summary: "Four tasks",
      tasks: [
        { task_id: "build", description: "Scaffold the package" },
        { task_id: "docs", description: "Write the documents" },
        { task_id: "tests", description: "Test the machine" },
        { task_id: "ship", description: "Ship it", dependencies: ["build", "docs"] },
      ],
    },
    {
      ...turn("t1"),
      ...usage(0.25),
      effects: ["build", "docs", "tests", "ship"].map((id) => effect(id, null, "pending")),
    },
  ),
  asks("claude", "instruction", { ...turn("t2", "build"), ...moves("build", "pending", "in_progress") }),
  says("claude", "report", { status: "progress", summary: "half of it" }, turn("t2", "build")),
  says(
    "claude",
    "artifact_ref",
    { label: "package.json", uri: "artifacts/package.json", size_bytes: 120 },
    turn("t2", "build"),
  ),
  says(
    "claude",
    "report",
    { status: "completed", summary: "all of it" },
    {
      ...turn("t2", "build"),
      ...usage(0.5),
      ...moves("build", "in_progress", "awaiting_review"),
    },
  ),
  says(
    "codex",
    "review",
    { decision: "approved", notes: "Good." },
    {
      ...turn("t3", "build"),
      ...usage(0.01),
      ...moves("build", "awaiting_review", "done"),
    },
  ),
  asks("claude", "instruction", { ...turn("t4", "tests"), ...moves("tests", "pending", "in_progress") }),
  says(
    "claude",
    "report",
    { status: "completed", summary: "done" },
    {
      ...turn("t4", "tests"),
      usage: { input_tokens: 10, output_tokens: 5 },
      ...moves("tests", "in_progress", "awaiting_review"),
    },
  ),
  record(
    "check_result",
    {
      check_id: "k1",
      results: [{ criterion: { text: "tests pass" }, passed: false, exit_code: 1, output: "1 failed" }],
    },
    { ticket_id: "tests", ...moves("tests", "awaiting_review", "in_progress") },
    "scheduler",
    "session",
  ),
  asks("claude", "instruction", { ...turn("t5", "tests"), attempt: 2 }),
  asks("codex", "ticket", turn("t6", "docs")),
  says(
    "codex",
    "clarification",
    { questions: [{ question_id: "q1", text: "Per-role time-out, or one for all?" }], status: "open" },
    { ...turn("t6", "docs"), ...usage(0.02) },
  ),
  record("user_command", { command: "limits", limits: { usd: 30 } }, PERSON, "user"),
]);

function timed(records: readonly UnsealedRecord[]): UnsealedRecord[] {
  return records.map((one, index) => {
    const at = new Date(Date.UTC(2026, 0, 2, 3, 4, index * 5)).toISOString();
    return { ...one, timestamp: at, record: { ...one.record, received_at: at } };
  });
}
