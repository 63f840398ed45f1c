import type { Rights } from "../../protocol/rights.ts";

/**
 * Who may say what in the schedule mode: SPEC.md's table of messages and answers. A worker never plans, instructs, reviews or
 * speaks for the person; a manager never reports work. An `error` says that the sender cannot, so agents may answer anything with it.
 */
export const SCHEDULE_RIGHTS: Rights = {
  manager: {
    clarification: ["requirement", "clarification_response", "ticket", "report", "review_request", "error"],
    plan: ["requirement", "clarification_response", "error"],
    instruction_proposal: ["ticket"],
    instruction: ["ticket", "report", "error"],
    // To an error only about work that was delivered and is the manager's to review; `expects` says when.
    review: ["review_request", "error"],
    error: "any_turn",
    artifact_ref: "always",
  },
  worker: {
    report: ["instruction_proposal", "instruction"],
    error: "any_turn",
    artifact_ref: "always",
  },
  participant: {
    error: "any_turn",
    artifact_ref: "always",
  },
  user: {
    requirement: "always",
    clarification_response: ["clarification"],
    // The person's own plan, given at the start.
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
    ticket: "always",
    review_request: "always",
    // Where checks review, their passing is the approval.
    review: "always",
    // A ticket that waits long for a dependency is told to the manager as a blocked report.
    report: "always",
    // Questions go to the person with scoped ids; default answers come back when nobody is there.
    clarification: "always",
    clarification_response: ["clarification"],
    error: "always",
  },
};
