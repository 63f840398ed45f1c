import { createMachine } from "xstate";
import { type Lifecycle, lifecycle } from "../machine.ts";

/** Where each event leads from a state. A state without arrows is final. */
export type Arrows = Readonly<Record<string, Readonly<Record<string, string>>>>;

const LEFT = ["waiting", "stopped"];

/** The states in which a session does not work, and `paused`, which the engine adds. A mode has no phase of these names. */
export const RESTING = [...LEFT, "closed", "paused"];

/** From each phase: a limit, a signal or a failed seat stops the session, it waits for a person, or it ends. */
const LEAVING = { stopped: "stopped", left_waiting: "waiting", finished: "closed" } as const;

/**
 * The machine of a session: its working phases, the first one first, and the stops that every session has. It resumes in the phase that it left.
 * `reopened` is the phase in which a closed session goes on, if it can.
 */
export function sessionMachine(id: string, phases: Arrows, reopened?: string) {
  const resuming = Object.fromEntries(Object.keys(phases).map((phase) => [`resumed_${phase}`, phase]));
  const working = Object.entries(phases).map(([phase, on]) => [phase, { on: { ...on, ...LEAVING } }]);
  const left = { on: { ...resuming, ...LEAVING } };
  const closed = reopened === undefined ? { type: "final" } : { on: { reopened } };
  return machine(id, phases, { ...Object.fromEntries(working), waiting: left, stopped: left, closed });
}

/** Whether a session has stopped, so that it resumes in the phase that was interrupted. */
export function isStopped(phase: string): boolean {
  return LEFT.includes(phase);
}

/** The machine of a subject, in its first state. */
export function subjectMachine(id: string, arrows: Arrows) {
  const states = Object.entries(arrows).map(([state, on]) => [
    state,
    Object.keys(on).length === 0 ? { type: "final" } : { on },
  ]);
  return machine(id, arrows, Object.fromEntries(states));
}

/** The states are data that the compiler cannot check; `contradictionsIn` does, when a mode is made. */
function machine(id: string, arrows: Arrows, states: object) {
  return createMachine({ id, initial: Object.keys(arrows)[0] ?? "", states } as never);
}

/** The two machines of a mode, as pure functions. */
export interface Lifecycles {
  readonly session: Lifecycle<string, string>;
  readonly subject: Lifecycle<string, string>;
}

export function lifecyclesOf({ name, subject, phases, states, events }: Machines): Lifecycles {
  const reopened = events.retried === undefined ? undefined : Object.keys(phases)[0];
  return {
    session: lifecycle(sessionMachine(name, phases, reopened)),
    subject: lifecycle(subjectMachine(subject, states)),
  };
}

interface Machines {
  readonly name: string;
  readonly subject: string;
  readonly phases: Arrows;
  readonly states: Arrows;
  readonly events: { readonly retried?: string };
}
