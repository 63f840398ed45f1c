import { setup } from "xstate";
import { lifecycle } from "../../kernel/machine.ts";

/**
 * A debate's life. Stopping is not closing: `stopped` (a limit, a signal, a judge that cannot) and `waiting` (a person is needed
 * and none is there) go on where they left, and `closed` is final: who wants another answer opens another debate.
 *
 *   debating ──round_over──► debating ──argued──► judging ──finished──► closed
 */
const leaving = { stopped: "stopped", left_waiting: "waiting", finished: "closed" } as const;

const resuming = { resumed_debating: "debating", resumed_judging: "judging" } as const;

export const debateMachine = setup({ types: { events: {} as { type: DebateEvent } } }).createMachine({
  id: "debate",
  initial: "debating",
  states: {
    debating: { on: { round_over: "debating", argued: "judging", ...leaving } },
    judging: { on: { ...leaving } },
    waiting: { on: { ...resuming, ...leaving } },
    stopped: { on: { ...resuming, ...leaving } },
    closed: { type: "final" },
  },
});

/** A phase that a stop interrupts and a resumption goes back to. */
export type WorkingPhase = "debating" | "judging";

export type DebatePhase = WorkingPhase | "waiting" | "stopped" | "closed";

export type DebateEvent = "round_over" | "argued" | "stopped" | "left_waiting" | "finished" | `resumed_${WorkingPhase}`;

export const debateLifecycle = lifecycle<DebatePhase, DebateEvent>(debateMachine);
