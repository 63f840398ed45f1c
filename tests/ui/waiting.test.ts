import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { Output } from "../../src/ui/terminal.ts";
import { commandFor, sentenceFor, showWaiting } from "../../src/ui/waiting.ts";

const question = (
  question_id: string,
  more: { readonly default?: string; readonly options?: readonly string[] } = {},
) => ({ kind: "question", ask_id: "c1", question_id, text: "Which?", options: [], ...more }) as const;

/** What a shell makes of the command: its words, one a line. */
function words(command: string): string[] {
  return execFileSync("sh", ["-c", command.replace(/^bosun/, "printf '%s\\n'")], { encoding: "utf8" })
    .trimEnd()
    .split("\n");
}

describe("the command that answers a question", () => {
  it("can be copied into a shell whatever the agent called the question and proposed", () => {
    const hostile = "c1.x'; echo owned; '$(echo owned)`echo owned`";
    expect(words(commandFor("s", question(hostile, { default: "it's $HOME; echo owned" })))).toEqual([
      "answer",
      "s",
      hostile,
      "it's $HOME; echo owned",
    ]);
  });

  it("offers the default, else the first option, else a place to write", () => {
    expect(commandFor("s", question("c1.q", { default: "main", options: ["next"] }))).toBe("bosun answer s c1.q main");
    expect(commandFor("s", question("c1.q", { options: ["next"] }))).toBe("bosun answer s c1.q next");
    expect(commandFor("s", question("c1.q"))).toBe('bosun answer s c1.q "…"');
  });

  it("never spells out an answer that would be another than it looks, nor one that reads as an option", () => {
    for (const text of ["a\nb", "x".repeat(61), "good\u202elive", "a  b"]) {
      expect(commandFor("s", question("c1.q", { default: text }))).toBe('bosun answer s c1.q "…"');
    }
    expect(words(commandFor("s", question("c1.q", { default: "--no-more" })))).toEqual([
      "answer",
      "s",
      "c1.q",
      "--",
      "--no-more",
    ]);
  });

  it("shows the question's id only as safe text", () => {
    expect(sentenceFor(question("c1.\u001b[2Jq\u0007"))).toBe("c1.q\\u{7}: Which?");
  });
});

it("is broken between words on a terminal, but for the command, and as it was said off one", () => {
  const asked = {
    ...question("c1.q", { options: ["main", "the next one"] }),
    text: "Which of the branches shall be released?",
    why: "It is  tagged, and\nthat stays.",
  };
  const shown = (width: number) => {
    const lines: string[] = [];
    const output = {
      program: "bosun",
      line: (text = "") => void lines.push(text),
      style: (_style: string, text: string) => text,
      width,
    };
    showWaiting(output as unknown as Output, "d", asked);
    return lines;
  };
  expect(shown(22)).toEqual([
    "  ? c1.q: Which of the",
    "    branches shall be",
    "    released?",
    "      why: It is",
    "      tagged, and",
    "      why: that stays.",
    "      options: main |",
    "      the next one",
    "      bosun answer d c1.q main",
  ]);
  expect(shown(Number.POSITIVE_INFINITY)).toEqual([
    "  ? c1.q: Which of the branches shall be released?",
    "      why: It is  tagged, and",
    "      why: that stays.",
    "      options: main | the next one",
    "      bosun answer d c1.q main",
  ]);
});

it("says what a question is about in words that fit the subjects of any mode", () => {
  const lines: string[] = [];
  const output = {
    program: "bosun",
    line: (text = "") => void lines.push(text),
    style: (_style: string, text: string) => text,
  };
  showWaiting(output as unknown as Output, "d", { ...question("t3.again"), ticket_id: "python" });
  expect(lines[0]).toBe("  ? t3.again: Which? (about python)");
});
