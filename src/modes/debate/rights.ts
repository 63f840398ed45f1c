import type { Rights } from "../../protocol/rights.ts";

/**
 * Who may say what in a debate. Debaters are participants and are put the topic as a `requirement`; the judge, a participant or a
 * manager, is put the `report` that the debaters have argued. So the message alone tells who may answer with which.
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
    // What the engine asks about a turn that a crash cut short; a debate asks nothing itself.
    clarification_response: ["clarification"],
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
    error: "always",
  },
};
