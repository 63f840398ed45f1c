import { expect, test } from "vitest";
import { overlapsOf } from "../../src/protocol/write-scopes.ts";

const task = (task_id: string, ...writes: string[]) => ({ task_id, ...(writes.length > 0 ? { writes } : {}) });

test.each([
  ["the same file", [task("a", "x.ts"), task("b", "x.ts")], [["a", "b"]]],
  ["a folder and a file in it", [task("a", "src/**"), task("b", "src/x.ts")], [["a", "b"]]],
  ["other files", [task("a", "x.ts"), task("b", "y.ts"), task("c", "src/*"), task("d", "lib/*")], []],
  ["tasks that name no files", [task("a"), task("b", "**")], []],
  [
    "all in one folder, as one group",
    [task("a", "src/**"), task("b", "src/**"), task("c", "src/**")],
    [["a", "b", "c"]],
  ],
  [
    "a task that joins two groups",
    [task("a", "x"), task("b", "y"), task("c", "z"), task("d", "x", "z")],
    [["a", "c", "d"]],
  ],
])("tasks overlap: %s", (_, tasks, groups) => {
  expect(overlapsOf(tasks)).toEqual(groups);
});
