import { rightsOf } from "../../kernel/kit/descriptor.ts";
import type { Rights } from "../../protocol/rights.ts";

const { user, scheduler, ...roles } = rightsOf({
  messages: {
    requirement: { to: ["manager"], answers: ["clarification", "plan"] },
    clarification_response: { to: ["manager"], answers: ["clarification", "plan"] },
    ticket: { to: ["manager"], answers: ["clarification", "instruction_proposal", "instruction"] },
    // With a plan only if it is about a long wait; `expects` says when.
    report: { to: ["manager"], answers: ["clarification", "plan", "instruction"] },
    // A participant is an independent reviewer.
    review_request: { to: ["manager", "participant"], answers: ["clarification", "review"] },
    // With a review only if there is delivered work that the manager reviews; `expects` says when.
    error: { to: ["manager"], answers: ["clarification", "plan", "instruction", "review"] },
    instruction_proposal: { to: ["worker"], answers: ["report"] },
    instruction: { to: ["worker"], answers: ["report"] },
  },
  outsiders: ["requirement", "plan", "report", "review", "artifact_ref"],
});

/**
 * Who may send what in the schedule mode: SPEC.md's table of messages and answers. A worker never plans, instructs, reviews or
 * answers for a person; a manager never reports work. Any turn may be answered with `error`.
 */
export const SCHEDULE_RIGHTS: Rights = {
  ...roles,
  user: { ...user, error: "any_turn" },
  scheduler: {
    ...scheduler,
    ticket: "always",
    review_request: "always",
    // If checks review a ticket, the scheduler approves it when they pass.
    review: "always",
    // The notice that tickets wait for another one is a blocked report to the manager, which may be asked about it.
    report: "always",
    // Default answers come back if there is no person.
    clarification_response: ["clarification"],
  },
};
