import type { MessageType } from "./state.ts";

/** Error first, then reviews, reports, and new tickets last: what is nearly done is finished before more is begun. */
export const PRIORITY: Record<MessageType, number> = {
  error: 0,
  review_request: 1,
  report: 2,
  instruction: 3,
  instruction_proposal: 3,
  requirement: 4,
  clarification_response: 4,
  ticket: 5,
};

const TO_WORKER: ReadonlySet<MessageType> = new Set(["instruction", "instruction_proposal"]);

/** Whether a message is a worker's to answer; all others are the manager's. */
export function isForWorker(message: MessageType): boolean {
  return TO_WORKER.has(message);
}

/** Reasons that only a plan, a person or the rules give. A session whose tickets are all done or withdrawn is done. */
const NO_AGENTS: ReadonlySet<string> = new Set([
  "cancelled",
  "needs_input",
  "no_progress",
  "plan_rejected",
  "replanned",
  "result_rejected",
  "waiting_for_dependency",
  "withdrawn",
]);

/** The reason that an agent's error gives: its code, unless no agent can know that. */
export function reasonSaid(code: string): string {
  return NO_AGENTS.has(code) ? "agent_failed" : code;
}
