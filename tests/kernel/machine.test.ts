import { describe, expect, it } from "vitest";
import { setup, transition } from "xstate";
import { lifecycle } from "../../src/kernel/machine.ts";

const machine = setup({}).createMachine({
  initial: "closed",
  states: {
    closed: { on: { open: "ajar" } },
    ajar: { on: { open: "wide", close: "closed" } },
    wide: { on: { close: "closed" } },
  },
});

describe("lifecycle", () => {
  const door = lifecycle<"closed" | "ajar" | "wide", "open" | "close">(machine);

  it("begins where the machine begins", () => {
    expect(door.initial).toBe("closed");
  });

  it("agrees with xstate on every state and event, each time", () => {
    for (const from of ["closed", "ajar", "wide"] as const) {
      for (const type of ["open", "close"] as const) {
        const snapshot = machine.resolveState({ value: from });
        const expected = snapshot.can({ type }) ? transition(machine, snapshot, { type })[0].value : undefined;
        expect([door.next(from, type), door.next(from, type)]).toEqual([expected, expected]);
      }
    }
  });
});
