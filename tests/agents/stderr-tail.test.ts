import { expect, test } from "vitest";
import { StderrTail } from "../../src/agents/cli/stderr-tail.ts";

function tailOf(...lines: string[]): string {
  const tail = new StderrTail();
  for (const line of lines) tail.add(line);
  return tail.text();
}

test("the end of what was said has at most 2 KiB, and begins with a whole character", () => {
  expect(tailOf("first", "x".repeat(2_045))).toBe(`t\n${"x".repeat(2_045)}`);
  // Bytes that are none of a character's first stand where it would be cut.
  for (const end of ["", "x", "xx", "xxx"]) {
    for (const character of ["ö", "€", "\u{1f600}"]) {
      const text = tailOf(`${character.repeat(3_000)}${end}`);
      expect(Buffer.byteLength(text)).toBeGreaterThan(2_044);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_048);
      expect(text.replaceAll(character, "")).toBe(end);
    }
  }
});

test("half a character that a cut has left does no harm", () => {
  const text = tailOf(`\u{1f600}${"x".repeat(2_000)}${" ".repeat(46)}`);
  expect(text).toBe(`\ufffd${"x".repeat(2_000)}`);
});

test("what a terminal would obey, or not show, is taken out of it; lines, tabs and emoji stay", () => {
  const title = "\u001b]0;owned\u001b\\";
  expect(tailOf(`${title}\u009b31mred\u001b[0m`, "a\tb\rc\u202ed\u3164e", "👩‍👧")).toBe("red\na\tb?c?d?e\n👩‍👧");
});
