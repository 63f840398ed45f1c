import type { Change, Mode } from "../../src/kernel/mode.ts";
import type { JsonObject } from "../../src/lib/json.ts";

/** The mode as a later version might have it: it decides the same, and stores it in other collections and fields. */
export function withLaterRows<S>(mode: Mode<S>): Mode<S> {
  return {
    ...mode,
    rows: (mode.rows ?? 1) + 1,
    subjects: later(mode.subjects),
    apply: (state, change) => mode.apply(state, earlierChange(change)),
    decide(state, fact) {
      const step = mode.decide(state, fact);
      return { ...step, changes: step.changes.map(laterChange) };
    },
  };
}

const later = (collection: string) => `later_${collection}`;
const earlier = (collection: string) => {
  if (!collection.startsWith("later_")) throw new Error(`there is no collection "${collection}"`);
  return collection.slice("later_".length);
};

function laterChange(change: Change): Change {
  const { id } = change;
  if ("drop" in change) return { drop: later(change.drop), id };
  return { put: later(change.put), id, value: { stored: change.value } };
}

function earlierChange(change: Change): Change {
  const { id } = change;
  if ("drop" in change) return { drop: earlier(change.drop), id };
  return { put: earlier(change.put), id, value: (change.value as JsonObject)["stored"] as JsonObject };
}
