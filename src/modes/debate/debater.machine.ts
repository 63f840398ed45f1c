import { setup } from "xstate";
import { lifecycle } from "../../kernel/machine.ts";

/**
 * A debater's life: asked once a round, set back by a failed turn until a timer asks again, dropped when the retries are spent, a person
 * says so, or the debate ends before it has answered.
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
