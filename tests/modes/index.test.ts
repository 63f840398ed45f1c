import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadModes, MODES, readerOf } from "../../src/modes/index.ts";
import { ROOT } from "../sources.ts";

it("every mode of the folder is in the registry, under its own name and letter", async () => {
  const folders = readdirSync(join(ROOT, "src/modes"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect([...MODES.keys()].toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
  const letters = Array.from(MODES.values(), ({ letter }) => letter);
  expect(new Set(letters).size).toBe(letters.length);
  const rules = await loadModes();
  for (const [name, { reader }] of MODES) {
    const { subjects, presentation } = reader;
    expect(reader.name).toBe(name);
    expect(rules.get(name)).toMatchObject({ name, subjects, presentation });
  }
});

it("a mode's reader has the collection of its subjects", async () => {
  for (const mode of (await loadModes()).values()) {
    const put = { put: mode.subjects, id: "one", value: {} };
    expect(() => mode.apply(mode.empty(), put)).not.toThrow();
  }
});

// Lookup reads these collections of a session of any mode to see whether it is a schedule.
it.each(["session", "question", "ticket"])("only the schedule has the collection %s", async (put) => {
  const others = [...(await loadModes()).values()].filter(({ name }) => name !== "schedule");
  expect(others.length).toBeGreaterThan(0);
  for (const mode of others) {
    expect(() => mode.apply(mode.empty(), { put, id: "x", value: {} })).toThrow(`has no collection "${put}"`);
  }
});

it.each([
  ["debate", "answered", "dropped"],
  ["schedule", "in_progress", "done"],
])("a subject of a %s that is %s hears a note, one that is %s does not", (name, hearing, over) => {
  const mode = readerOf(name);
  const hears = (status: string) => {
    const state = mode?.empty();
    mode?.apply(state, { put: mode.subjects, id: "one", value: { id: "one", status, depends_on: [] } });
    return mode?.hears?.(state, "one");
  };
  expect([hears(hearing), hears(over)]).toEqual([true, false]);
});

it("a property name of every JavaScript object is no mode", () => {
  expect(readerOf("constructor")).toBeUndefined();
});
