import type { Rights } from "../../protocol/rights.ts";

/**
 * Who may send what in the schedule mode: SPEC.md's table of messages and answers. A worker never plans, instructs, reviews or
 * answers for a person; a manager never reports work. Any turn may be answered with `error`.
 */
export const SCHEDULE_RIGHTS: Rights = {
  manager: {
    clarification: ["requirement", "clarification_response", "ticket", "report", "review_request", "error"],
    // In answer to a report only if it is about a long wait; `expects` says when.
    plan: ["requirement", "clarification_response", "report", "error"],
    instruction_proposal: ["ticket"],
    instruction: ["ticket", "report", "error"],
    // In answer to an error only if there is delivered work that the manager reviews; `expects` says when.
    review: ["review_request", "error"],
    error: "any_turn",
    artifact_ref: "always",
  },
  worker: {
    report: ["instruction_proposal", "instruction"],
    error: "any_turn",
    artifact_ref: "always",
  },
  // An independent reviewer.
  participant: {
    clarification: ["review_request"],
    review: ["review_request"],
    error: "any_turn",
    artifact_ref: "always",
  },
  user: {
    requirement: "always",
    clarification_response: ["clarification"],
    // The person's own plan.
    plan: "always",
    approval: ["approval_request"],
    review: "always",
    user_command: "always",
    artifact_ref: "always",
    error: "any_turn",
  },
  scheduler: {
    session_opened: "always",
    turn_request: "always",
    turn_failed: "always",
    timer_fired: "always",
    time_shifted: "always",
    check_result: "always",
    session_stopped: "always",
    session_recovered: "always",
    session_reopened: "always",
    session_begun: "always",
    session_finished: "always",
    final_report: "always",
    session_closed: "always",
    approval_request: "always",
    // Of commands that nobody has to be asked about.
    approval: "always",
    ticket: "always",
    review_request: "always",
    // If checks review a ticket, the scheduler approves it when they pass.
    review: "always",
    // The notice that tickets wait for another one is a blocked report to the manager, which may be asked about it.
    report: "always",
    // Questions go to a person with scoped ids; default answers come back if there is no person.
    clarification: "always",
    clarification_response: ["clarification"],
    error: "always",
  },
};
