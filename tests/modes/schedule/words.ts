import type { PayloadByType, ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";

export type Task = NonNullable<PayloadByType["plan"]["tasks"]>[number];

export const CREW: readonly Role[] = [
  { role_id: "boss", type: "manager", backend: "scripted" },
  { role_id: "hand", type: "worker", backend: "scripted", capabilities: ["coding"] },
  { role_id: "eye", type: "worker", backend: "scripted", capabilities: ["research"] },
];

export const CONFIG: ResolvedConfiguration = {
  max_workers: 4,
  max_retries: 2,
  retry_backoff_ms: 1000,
  timeout_s: 1800,
  idle_timeout_s: 600,
  kill_grace_s: 5,
  answer_grace_s: 2,
  max_line_bytes: 8_388_608,
  max_output_bytes: 67_108_864,
  max_review_rounds: 3,
  check_rounds: 2,
  max_clarification_rounds: 5,
  max_escalations: 2,
  max_recoveries: 3,
  max_hold_s: 3600,
  dependency_notice_s: 3600,
  plan_approval: "never",
  review: "manager",
  checks: {},
  proposal: "risk",
  isolation: "none",
  workspace: "/project",
  budget: {},
};

export function task(task_id: string, more: Partial<Task> = {}): Task {
  return { task_id, description: `Do ${task_id}`, ...more };
}

/** An executable criterion. */
export function runs(...command: readonly string[]) {
  return { text: `${command.join(" ")} passes`, command };
}

export function asking(...ids: readonly string[]) {
  return {
    questions: ids.map((question_id) => ({ question_id, text: `What of ${question_id}?` })),
    status: "open",
  } as const;
}

export const INSTRUCTION = { summary: "Do it so" };
export const COMPLETED = { status: "completed" } as const;
export const APPROVED = { decision: "approved" } as const;
export const CHANGES = { decision: "changes_requested" } as const;
