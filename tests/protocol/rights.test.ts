import { describe, expect, it, test } from "vitest";
import { SCHEDULE_RIGHTS } from "../../src/modes/schedule/rights.ts";
import { AGENT_PAYLOAD_TYPES, PAYLOAD_TYPES, type PayloadType } from "../../src/protocol/payload.ts";
import { expectedAnswers, permits, type Sender } from "../../src/protocol/rights.ts";

const senders: Sender[] = ["manager", "worker", "participant", "user", "scheduler"];

/** SPEC.md's table by message: who may answer it with which types, beside `error`. */
const answers: { [message in PayloadType]?: { [sender in Sender]?: PayloadType[] } } = {
  requirement: { manager: ["clarification", "plan"] },
  clarification_response: { manager: ["clarification", "plan"] },
  ticket: { manager: ["clarification", "instruction", "instruction_proposal"] },
  instruction_proposal: { worker: ["report"] },
  report: { manager: ["clarification", "instruction", "plan"] },
  instruction: { worker: ["report"] },
  review_request: { manager: ["clarification", "review"], participant: ["clarification", "review"] },
  error: { manager: ["clarification", "instruction", "plan", "review"] },
  clarification: { user: ["clarification_response"], scheduler: ["clarification_response"] },
  approval_request: { user: ["approval"] },
};

const always: { [sender in Sender]: PayloadType[] } = {
  manager: ["artifact_ref"],
  worker: ["artifact_ref"],
  participant: ["artifact_ref"],
  user: ["requirement", "plan", "report", "review", "user_command", "artifact_ref"],
  scheduler: [
    "session_opened",
    "turn_request",
    "turn_failed",
    "timer_fired",
    "time_shifted",
    "check_result",
    "merge_begun",
    "session_stopped",
    "session_recovered",
    "session_reopened",
    "session_begun",
    "session_finished",
    "final_report",
    "session_closed",
    "approval_request",
    "approval",
    "message",
    "ticket",
    "review_request",
    "review",
    "report",
    "clarification",
    "error",
  ],
};

function allowed(sender: Sender, type: PayloadType, message: PayloadType | undefined): boolean {
  if (always[sender].includes(type)) return true;
  if (message === undefined) return false;
  return type === "error" || (answers[message]?.[sender] ?? []).includes(type);
}

describe("rights in the schedule mode", () => {
  test.each(senders)("%s may send what SPEC.md says, and nothing else", (sender) => {
    for (const type of PAYLOAD_TYPES) {
      for (const message of [...PAYLOAD_TYPES, undefined]) {
        expect(permits(SCHEDULE_RIGHTS, sender, type, message), `${sender}: ${type} to ${message ?? "nothing"}`).toBe(
          allowed(sender, type, message),
        );
      }
    }
  });

  test.each(senders)("%s is expected to answer with the types that end its turn", (sender) => {
    for (const message of PAYLOAD_TYPES) {
      const expected = PAYLOAD_TYPES.filter((type) => allowed(sender, type, message) && !always[sender].includes(type));
      expect(expectedAnswers(SCHEDULE_RIGHTS, sender, message), `${sender}: ${message}`).toEqual(expected);
    }
  });

  it("never let a worker plan, instruct, ask, review or answer for the user", () => {
    const never = [
      "plan",
      "instruction",
      "instruction_proposal",
      "clarification",
      "review",
      "approval",
      "requirement",
    ] as const;
    for (const type of never) {
      for (const message of [...PAYLOAD_TYPES, undefined]) {
        expect(permits(SCHEDULE_RIGHTS, "worker", type, message), `${type} to ${message ?? "nothing"}`).toBe(false);
      }
    }
  });

  it("give agents only types of agents", () => {
    for (const sender of ["manager", "worker", "participant"] as const) {
      expect(AGENT_PAYLOAD_TYPES).toEqual(expect.arrayContaining(Object.keys(SCHEDULE_RIGHTS[sender])));
    }
  });
});
