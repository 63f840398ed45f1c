import { describe, expect, it } from "vitest";
import { changeLines, changesAfter } from "../../src/kernel/changes.ts";
import type { ChangedFile, ChangedFiles } from "../../src/protocol/record.ts";

type Told = readonly [subject: string, change: ChangedFile["change"], path: string];

/** What stands after turns that each changed one file. */
function after(...turns: readonly Told[]): Map<string, ChangedFiles> {
  const all = new Map<string, ChangedFiles>();
  for (const [subject, change, path] of turns)
    for (const [id, changed] of changesAfter(all, subject, { files: [{ path, change }], count: 1 }))
      all.set(id, changed);
  return all;
}

describe("the changes of several turns about a subject", () => {
  it.each<[ChangedFile["change"], ChangedFile["change"], string[]]>([
    ["added", "modified", ["added a"]],
    ["added", "deleted", []],
    ["modified", "deleted", ["deleted a"]],
    ["deleted", "added", ["modified a"]],
  ])("are told as one: %s, then %s", (first, second, lines) => {
    expect(changeLines(after(["T1", first, "a"], ["T1", second, "a"]).get("T1"))).toEqual(lines);
  });

  it("count the files that no record lists", () => {
    const turn = { files: [{ path: "a", change: "added" } as const], count: 300 };
    const [[, changed] = []] = changesAfter(new Map(), "T1", turn);
    expect(changeLines(changed)).toEqual(["added a", "and 299 more"]);
  });
});

it("a file that several subjects changed is told of each, with the others", () => {
  const all = after(["T1", "added", "a"], ["T1", "added", "b"], ["T2", "modified", "a"], ["T3", "deleted", "a"]);
  expect([...all].map(([id, changed]) => [id, changeLines(changed)])).toEqual([
    ["T1", ["added a (T2, T3, too)", "added b"]],
    ["T2", ["modified a (T1, T3, too)"]],
    ["T3", ["deleted a (T1, T2, too)"]],
  ]);
});
