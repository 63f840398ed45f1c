import { setup } from "xstate";
import { lifecycle } from "../../kernel/machine.ts";

/**
 * The lifecycle of a debater. It is asked once per round. A failed turn sets it back until a timer fires. It is dropped when its retries are
 * spent, when a person drops it, or when the debate ends before its answer.
 *
 *   waiting ──asked──► answering ──opinion_given──► answered ──asked──► answering
 *   answering ──set_back──► waiting      waiting | answering | answered ──dropped──► dropped
 */
export const debaterMachine = setup({ types: { events: {} as { type: DebaterEvent } } }).createMachine({
  id: "debater",
  initial: "waiting",
  states: {
    waiting: { on: { asked: "answering", dropped: "dropped" } },
    answering: { on: { opinion_given: "answered", set_back: "waiting", dropped: "dropped" } },
    answered: { on: { asked: "answering", dropped: "dropped" } },
    dropped: { type: "final" },
  },
});

export type DebaterStatus = "waiting" | "answering" | "answered" | "dropped";

export type DebaterEvent = "asked" | "opinion_given" | "set_back" | "dropped";

export const debaterLifecycle = lifecycle<DebaterStatus, DebaterEvent>(debaterMachine);
