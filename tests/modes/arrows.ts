import { type AnyStateMachine, transition } from "xstate";
import { getSimplePaths } from "xstate/graph";

/** The states that a machine can reach. */
export function statesOf(machine: AnyStateMachine): string[] {
  return [...new Set(getSimplePaths(machine).map(({ state }) => state.value as string))].toSorted();
}

/** Every arrow of a machine as `from event to`, found by trying every event in every reachable state. */
export function arrowsOf(machine: AnyStateMachine): string[] {
  return statesOf(machine)
    .flatMap((from) => {
      const snapshot = machine.resolveState({ value: from, context: {} });
      return machine.events
        .filter((type) => snapshot.can({ type }))
        .map((type) => `${from} ${type} ${transition(machine, snapshot, { type })[0].value}`);
    })
    .toSorted();
}
