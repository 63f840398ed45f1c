import { expect, it } from "vitest";
import { idsOf, questionsMeant } from "../../src/protocol/question-ids.ts";

const question = (ask_id: string, id: string) => ({ ask_id, question_id: `${ask_id}.${id}` });
const ASKED = [question("c1", "q1"), question("c2", "q1"), question("c2", "a.b")];

it.each([
  ["c2.q1", ["c2.q1"]],
  ["q1", ["c1.q1", "c2.q1"]],
  ["a.b", ["c2.a.b"]],
  ["b", []],
  ["c1", []],
  ["", []],
])("means by %j the questions %j", (id, meant) => {
  expect(questionsMeant(id, ASKED).map(({ question_id }) => question_id)).toEqual(meant);
});

it("prefers the question with the whole id to another with that id within its request", () => {
  const asked = [question("c1", "c2.q1"), question("c2", "q1")];
  expect(questionsMeant("c2.q1", asked)).toEqual([question("c2", "q1")]);
});

it("knows the id within a request whose own id has dots", () => {
  expect(idsOf(question("s-1.2", "again"))).toEqual(["s-1.2.again", "again"]);
});
