import { expect, test } from "vitest";
import { StderrTail } from "../../src/agents/cli/stderr-tail.ts";

function tailOf(...lines: string[]): string {
  const tail = new StderrTail();
  for (const line of lines) tail.add(line);
  return tail.text();
}

test("keeps at most 2 KiB, beginning with a whole character", () => {
  expect(tailOf("first", "x".repeat(2_045))).toBe(`t\n${"x".repeat(2_045)}`);
  // Continuation bytes are at the cut.
  for (const end of ["", "x", "xx", "xxx"]) {
    for (const character of ["ö", "€", "\u{1f600}"]) {
      const text = tailOf(`${character.repeat(3_000)}${end}`);
      expect(Buffer.byteLength(text)).toBeGreaterThan(2_044);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_048);
      expect(text.replaceAll(character, "")).toBe(end);
    }
  }
});

test("replaces half a character at the cut", () => {
  const text = tailOf(`\u{1f600}${"x".repeat(2_000)}${" ".repeat(46)}`);
  expect(text).toBe(`\ufffd${"x".repeat(2_000)}`);
});

test("removes control and invisible characters; keeps lines, tabs and emoji", () => {
  const title = "\u001b]0;owned\u001b\\";
  expect(tailOf(`${title}\u009b31mred\u001b[0m`, "a\tb\rc\u202ed\u3164e", "👩‍👧")).toBe("red\na\tb?c?d?e\n👩‍👧");
});
