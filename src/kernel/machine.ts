import { type AnyStateMachine, getInitialSnapshot, transition } from "xstate";

/** A state machine reduced to what a decision needs: from a state, on an event, to a state. */
export interface Lifecycle<State extends string, Event extends string> {
  readonly initial: State;
  /** `undefined` when the state does not accept the event; the caller records that as a failure. */
  next(from: State, event: Event): State | undefined;
}

/**
 * The one bridge to xstate. The machine stays the definition (its picture, its model tests); it is driven as a pure function of
 * (state, event) and each answer is kept, because `transition` builds a whole actor system on every call. Only machines
 * without context, guards and delays may come here: anything else would not be a function of (state, event).
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
