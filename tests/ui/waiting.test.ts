import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { commandFor, sentenceFor } from "../../src/ui/waiting.ts";

const question = (
  question_id: string,
  more: { readonly default?: string; readonly options?: readonly string[] } = {},
) => ({ kind: "question", ask_id: "c1", question_id, text: "Which?", options: [], ...more }) as const;

/** The words that a shell makes of the command. */
function words(command: string): string[] {
  return execFileSync("sh", ["-c", command.replace(/^bosun/, "printf '%s\\n'")], { encoding: "utf8" })
    .trimEnd()
    .split("\n");
}

describe("the command that answers a question", () => {
  it("is safe to paste into a shell, whatever the agent wrote", () => {
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

  it("leaves out an answer that the screen would not show exactly", () => {
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
