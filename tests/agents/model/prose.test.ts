import { describe, expect, test } from "vitest";
import { Prose } from "../../../src/agents/model/prose.ts";

function shown(pieces: readonly string[]): string[] {
  const lines: string[] = [];
  const prose = new Prose((line) => lines.push(line));
  for (const piece of pieces) prose.push(piece);
  prose.end();
  return lines;
}

const ANSWER = JSON.stringify({
  payload_type: "report",
  report: {
    status: "completed",
    summary: 'It "works".\nAnd 迁移 😀 too: {a}',
    outputs: [{ path: "src/a.ts" }],
    next: ["Look again."],
  },
  error: null,
});
const LINES = ['It "works".', "And 迁移 😀 too: {a}", "Look again."];

describe("what a model writes is shown", () => {
  test("as it is, line by line", () => {
    expect(shown(["One li", "ne.\n\nTwo", " {braces} within."])).toEqual(["One line.", "Two {braces} within."]);
  });

  test("as the texts of its JSON, without names, ids and paths", () => {
    expect(shown([ANSWER])).toEqual(LINES);
  });

  test("the same in any pieces", () => {
    expect(shown(ANSWER.split(""))).toEqual(LINES);
    expect(shown([JSON.stringify(JSON.parse(ANSWER), undefined, 2)])).toEqual(LINES);
    expect(
      shown(
        ANSWER.replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).split(""),
      ),
    ).toEqual(LINES);
  });

  test("without the fence around its JSON, and with the words before it", () => {
    expect(shown(["Here it is:\n```json\n", ANSWER, "\n```\n"])).toEqual(["Here it is:", ...LINES]);
  });

  test("as far as it goes when its JSON is cut or broken", () => {
    expect(shown([ANSWER.slice(0, 70)])).toEqual(["It "]);
    expect(shown(['{"a": "a text" "b" : [}} "another one"'])).toContain("a text");
  });
});
