import type { Model, Step } from "./conversation.ts";

/** A model that takes the steps in order, one for each request, and repeats the last. */
export function scripted(...steps: readonly Step[]): Model {
  let taken = 0;
  return () => {
    const step = steps[Math.min(taken, steps.length - 1)];
    taken += 1;
    return step ?? { text: "There is nothing to do." };
  };
}
