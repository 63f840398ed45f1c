import { sessionMachine } from "../../kernel/kit/lifecycles.ts";
import { lifecycle } from "../../kernel/machine.ts";

type Phase = "planning" | "clarifying" | "approving" | "running";

/**
 * The working phases of a schedule session:
 *
 *   planning ◄──► clarifying      planning ──plan_proposed──► approving ──plan_accepted──► running ──finished──► closed
 */
const PHASES = {
  planning: { questions_asked: "clarifying", plan_proposed: "approving", plan_accepted: "running" },
  clarifying: { answered: "planning", plan_proposed: "approving", plan_accepted: "running" },
  approving: { plan_accepted: "running", plan_proposed: "approving", plan_sent_back: "planning" },
  running: { plan_proposed: "approving", plan_accepted: "running", result_proposed: "approving" },
} as const satisfies Record<Phase, Record<string, Phase>>;

export const scheduleMachine = sessionMachine("schedule_session", PHASES, "running");

export type SessionPhase = Phase | "waiting" | "stopped" | "closed";

type Arrow = { [P in Phase]: keyof (typeof PHASES)[P] }[Phase];

export type SessionEvent = Arrow | "reopened" | "stopped" | "left_waiting" | "finished" | `resumed_${Phase}`;

export const sessionLifecycle = lifecycle<SessionPhase, SessionEvent>(scheduleMachine);
