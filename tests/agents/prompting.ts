import { makePrompts, type PromptFile, type Prompts } from "../../src/agents/prompts/prompts.ts";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";

export const NONCE = "0123456789abcdef";

export const TASK = {
  task_id: "limit",
  description: "Limit requests.",
  acceptance_criteria: [{ text: "tests pass", command: ["npm", "test"] }],
};

export const HISTORY = [
  { sequence: 9, at: "2026-01-02T03:04:05Z", event: "instruction_received", payload_type: "instruction", attempt: 1 },
  {
    sequence: 12,
    at: "2026-01-02T03:05:05Z",
    event: "checks_failed",
    payload_type: "check_result",
    payload: {
      check_id: "k1",
      results: [
        { criterion: "lint", exit_code: 0, passed: true, output: "" },
        { criterion: "tests pass", exit_code: 1, passed: false, output: "1 failed\nlimit.test.ts" },
      ],
    },
  },
  {
    sequence: 15,
    at: "2026-01-02T03:06:05Z",
    event: "changes_requested",
    payload_type: "review",
    payload: { decision: "changes_requested", requested_changes: ["Count per key, not per address."] },
  },
];

export const REPORT = { status: "completed", summary: "Done.\nAll of it.", outputs: ["src/limit.ts"] };

/** A request of a role of this type; `more` replaces parts of its payload. */
export function request(type: "manager" | "worker" | "participant", more: JsonObject): TurnRequest {
  return {
    session_id: "s1",
    role: { role_id: `${type}_1`, type, system_prompt: "Be brief." },
    payload: {
      turn_id: "t9",
      role_id: `${type}_1`,
      expects: ["error"],
      message: { payload_type: "requirement", payload: { text: "Limit requests." } },
      context: { requirement: "Limit requests.", clarifications: [] },
      workspace: "/project",
      artifacts_dir: "/home/sessions/s1/work/limit",
      home: "/home",
      ...more,
    },
  } as unknown as TurnRequest;
}

export const INSTRUCTION = request("worker", {
  expects: ["error", "report"],
  message: {
    payload_type: "instruction",
    payload: { summary: "Write the limiter.", steps: ["read", { shell: "ls" }] },
  },
  context: {
    requirement: "Limit requests.",
    clarifications: [{ question: "Per what?", answer: "Per key" }],
    ticket: { ticket_id: "limit", task_id: "limit", status: "in_progress", history: [], task: TASK },
    history: HISTORY,
    dependencies: [{ task_id: "survey", outputs: ["routes.json"], artifacts: [] }],
    notes: ["Leave the tests of others alone."],
    refused: [
      { payload_type: "report", code: "validation_failed", pointer: "/status", message: "/status is missing." },
    ],
  },
  limits: { remaining_turns: 12 },
});

export function prompts(replaced: readonly PromptFile[] = [], nonce = (): string => NONCE): Prompts {
  const made = makePrompts(replaced, nonce);
  if (!made.ok) throw new Error(made.error.map(({ what }) => what).join());
  return made.value;
}
