import { expect, it } from "vitest";
import { isGeneratedId, newSessionId } from "../../../src/commands/lookup/id.ts";

it.each([
  ["debate", "d"],
  ["schedule", "s"],
] as const)("the id of a %s begins with its letter and is recognized, also a prefix or a child's", (mode, letter) => {
  const id = newSessionId(mode);
  expect(id).toMatch(new RegExp(`^${letter}-[a-z0-9]{6}$`));
  expect([id, id.slice(0, 4), `${id}.12`, `${id}.12.3`, `${id}ab`].filter(isGeneratedId)).toHaveLength(5);
});

it("other words are no generated ids", () => {
  expect(["e-mail", "s-", "s-Upper", "s-abcdefghi", "d-abc.", "ds-abc"].filter(isGeneratedId)).toEqual([]);
});
