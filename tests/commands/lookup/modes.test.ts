import { expect, it } from "vitest";
import { loadModes, loadReading } from "../../../src/commands/lookup/modes.ts";

// Lookup reads these collections of a session of any mode to see whether it is a schedule.
it.each(["session", "question", "ticket"])("only the schedule has the collection %s", async (put) => {
  const others = [...(await loadModes()).values()].filter(({ name }) => name !== "schedule");
  expect(others.length).toBeGreaterThan(0);
  for (const mode of others) {
    expect(() => mode.apply(mode.empty(), { put, id: "x", value: {} })).toThrow(`has no collection "${put}"`);
  }
});

it("a property name of every JavaScript object is no mode", async () => {
  expect(await loadReading("constructor")).toBeUndefined();
});
