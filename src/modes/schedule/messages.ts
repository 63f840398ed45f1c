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
