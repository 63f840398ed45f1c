import { setup } from "xstate";
import { lifecycle } from "../../kernel/machine.ts";

/**
 * The lifecycle of a debate. `stopped` (a limit, a signal, a failed judge) and `waiting` (a person is needed) resume in the phase that
 * they left. `closed` is final.
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

/** A phase that a stop interrupts and a resume returns to. */
export type WorkingPhase = "debating" | "judging";

export type DebatePhase = WorkingPhase | "waiting" | "stopped" | "closed";

export type DebateEvent = "round_over" | "argued" | "stopped" | "left_waiting" | "finished" | `resumed_${WorkingPhase}`;

export const debateLifecycle = lifecycle<DebatePhase, DebateEvent>(debateMachine);
