import { type AnyStateMachine, getInitialSnapshot, transition } from "xstate";

/** A state machine as a pure function of state and event. */
export interface Lifecycle<State extends string, Event extends string> {
  readonly initial: State;
  /** `undefined` if the state does not accept the event. The caller MUST record that as a refusal. */
  next(from: State, event: Event): State | undefined;
}

/**
 * The only bridge to xstate. The machine is the definition; it is used as a pure function of state and event. Results are cached, because
 * `transition` builds an actor system on every call. The machine MUST NOT have context, guards or delays: with them it would not be a pure function.
 */
export function lifecycle<State extends string, Event extends string>(
  machine: AnyStateMachine,
): Lifecycle<State, Event> {
  const known = new Map<string, State | undefined>();
  return {
    initial: getInitialSnapshot(machine).value as State,
    next(from, event) {
      const key = `${from} ${event}`;
      if (known.has(key)) return known.get(key);
      const snapshot = machine.resolveState({ value: from, context: {} });
      const to = snapshot.can({ type: event })
        ? (transition(machine, snapshot, { type: event })[0].value as State)
        : undefined;
      known.set(key, to);
      return to;
    },
  };
}
