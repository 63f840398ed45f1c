import type { Rights } from "../../protocol/rights.ts";

/**
 * Who may send what in a debate. Debaters are participants and get the topic as a `requirement`. The judge is a participant or a manager and gets a
 * `report` that the debaters have argued. So the message alone determines which answer is allowed.
 */
export const DEBATE_RIGHTS: Rights = {
  participant: {
    opinion: ["requirement"],
    verdict: ["report"],
    error: "any_turn",
    artifact_ref: "always",
  },
  manager: {
    verdict: ["report"],
    error: "any_turn",
    artifact_ref: "always",
  },
  worker: {},
  user: {
    user_command: "always",
    // Answers to the engine's questions about in-doubt turns and permissions. The debate itself asks nothing.
    clarification_response: ["clarification"],
    approval: ["approval_request"],
  },
  scheduler: {
    session_opened: "always",
    turn_request: "always",
    turn_failed: "always",
    timer_fired: "always",
    time_shifted: "always",
    session_stopped: "always",
    session_recovered: "always",
    session_reopened: "always",
    final_report: "always",
    session_closed: "always",
    clarification: "always",
    approval_request: "always",
    error: "always",
  },
};
