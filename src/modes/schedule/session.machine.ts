import { setup } from "xstate";
import { lifecycle } from "../../kernel/machine.ts";

/**
 * The lifecycle of a schedule session. `stopped` (a limit, a signal, a failed manager) and `waiting` (a person is needed) resume in the
 * phase that they left. Only `closed` has a final report.
 *
 *   planning ◄──► clarifying      planning ──plan_proposed──► approving ──plan_accepted──► running ──finished──► closed
 */
const leaving = { stopped: "stopped", left_waiting: "waiting", finished: "closed" } as const;

const resuming = {
  resumed_planning: "planning",
  resumed_clarifying: "clarifying",
  resumed_approving: "approving",
  resumed_running: "running",
} as const;

export const sessionMachine = setup({ types: { events: {} as { type: SessionEvent } } }).createMachine({
  id: "schedule_session",
  initial: "planning",
  states: {
    planning: {
      on: {
        questions_asked: "clarifying",
        plan_proposed: "approving",
        plan_accepted: "running",
        ...leaving,
      },
    },
    clarifying: { on: { answered: "planning", plan_proposed: "approving", plan_accepted: "running", ...leaving } },
    approving: {
      on: { plan_accepted: "running", plan_proposed: "approving", plan_sent_back: "planning", ...leaving },
    },
    running: {
      on: {
        plan_proposed: "approving",
        plan_accepted: "running",
        result_proposed: "approving",
        ...leaving,
      },
    },
    waiting: { on: { ...resuming, ...leaving } },
    stopped: { on: { ...resuming, ...leaving } },
    closed: { on: { reopened: "running" } },
  },
});

export type SessionPhase = "planning" | "clarifying" | "approving" | "running" | "waiting" | "stopped" | "closed";

export type SessionEvent =
  | "questions_asked"
  | "answered"
  | "plan_proposed"
  | "plan_accepted"
  | "plan_sent_back"
  | "result_proposed"
  | "reopened"
  | "stopped"
  | "left_waiting"
  | "finished"
  | `resumed_${"planning" | "clarifying" | "approving" | "running"}`;

export const sessionLifecycle = lifecycle<SessionPhase, SessionEvent>(sessionMachine);
