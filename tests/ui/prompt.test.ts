import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { promptQuestion } from "../../src/ui/prompt.ts";
import { outputOn, type Terminal } from "../../src/ui/terminal.ts";
import type { OpenQuestion } from "../../src/ui/waiting.ts";

/** What is shown of a question on a terminal of so many columns, before what is typed. */
async function shown(question: OpenQuestion, columns: number): Promise<string[]> {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns }) as unknown as NodeJS.WriteStream;
  const terminal = { input: new PassThrough(), err: outputOn(stream), isDumb: true } as unknown as Terminal;
  const enough = AbortSignal.abort();
  await promptQuestion(terminal, question, { number: 1, of: 1 }, enough);
  const written = stripVTControlCharacters(String(stream.read()));
  return written.split("\n").slice(2, -1);
}

const QUESTION: OpenQuestion = {
  kind: "question",
  ask_id: "c1",
  question_id: "c1.q1",
  text: "Which of the two lists of files is the one that counts?\n  - src/one   \n  - src/two",
  why: "They differ in more than one place.",
  options: ["The first list, which is the longer one of the two", "Neither"],
  default: "The first list, which is the longer one of the two",
};

describe("a question at a terminal", () => {
  it("is broken between words where it is wider, and stands as it was written where it is not", async () => {
    expect(await shown(QUESTION, 30)).toEqual([
      "  Which of the two lists of",
      "  files is the one that",
      "  counts?",
      "    - src/one   ",
      "    - src/two",
      "  why: They differ in more",
      "  than one place.",
      "  1  The first",
      "     list, which is",
      "     the longer one",
      "     of the two  (default)",
      "  2  Neither",
    ]);
  });

  it("is not broken where it fits", async () => {
    expect(await shown({ ...QUESTION, default: "Something else" }, 100)).toEqual([
      "  Which of the two lists of files is the one that counts?",
      "    - src/one   ",
      "    - src/two",
      "  why: They differ in more than one place.",
      "  1  The first list, which is the longer one of the two",
      "  2  Neither",
      "  Enter: Something else",
    ]);
  });
});
