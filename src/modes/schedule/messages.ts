import type { MessageType } from "./state.ts";

/** Errors first and new tickets last, so that started work is finished before more is begun. */
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

/** Whether a worker answers the message. The manager answers all others. */
export function isForWorker(message: MessageType): boolean {
  return TO_WORKER.has(message);
}

/** Whether a turn about the session asks the manager what to do about a long wait. Nothing waits for its answer. */
export function isAboutLongWait(id: string | undefined, { message }: { readonly message: MessageType }): boolean {
  return id === undefined && message === "report";
}

/** Reasons that an agent's error cannot give: only a plan, a person or the rules do. */
const NOT_FROM_AGENTS: ReadonlySet<string> = new Set([
  "cancelled",
  "needs_input",
  "no_progress",
  "plan_rejected",
  "replanned",
  "result_rejected",
  "waiting_for_dependency",
  "withdrawn",
]);

/** The reason that an agent's error gives a ticket: its code, unless agents may not give that one. */
export function reasonOfError(code: string): string {
  return NOT_FROM_AGENTS.has(code) ? "agent_failed" : code;
}
