import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { widthOf } from "../../src/lib/text-layout.ts";
import { clipped, safeJson, safeLine, safeText, wrapped } from "../../src/ui/display.ts";
import { computing } from "../computing.ts";

/** Hostile texts, and what is shown of them. */
const CORPUS: readonly (readonly [what: string, text: string, shown: string])[] = [
  ["colours", "\u001b[31mred\u001b[0m", "red"],
  ["clearing the screen", "a\u001b[2Jb\u001b[H", "ab"],
  ["a window's title", "\u001b]0;owned\u0007x", "x"],
  ["a link", "\u001b]8;;http://evil\u0007text\u001b]8;;\u0007", "text"],
  ["the clipboard", "\u001b]52;c;ZXZpbA==\u0007x", "x"],
  ["a sequence by its one-byte form", "\u009b31mx", "x"],
  ["resetting the terminal", "a\u001bcb\u001b(0c", "abc"],
  ["a title that never ends", "\u001b]0;owned", "\\u{1b}]0;owned"],
  ["a lone escape", "a\u001b", "a\\u{1b}"],
  ["a bell", "a\u0007", "a\\u{7}"],
  ["going back over what was written", "good\u0008\u0008\u0008\u0008evil", "good\\u{8}\\u{8}\\u{8}\\u{8}evil"],
  ["a return to the line's start", "good\revil", "good\\u{d}evil"],
  ["deleting", "a\u007fb", "a\\u{7f}b"],
  ["NUL", "a\0b", "a\\u{0}b"],
  ["the reading direction", "user\u202etxt.exe", "user\\u{202e}txt.exe"],
  ["isolates", "\u2066x\u2069", "\\u{2066}x\\u{2069}"],
  ["zero width", "pass\u200bword\u200d\ufeff", "pass\\u{200b}word\\u{200d}\\u{feff}"],
  ["tags", "x\u{e0041}\u{e007f}", "x\\u{e0041}\\u{e007f}"],
  ["fillers that look like nothing", "a\u3164b\u115f", "a\\u{3164}b\\u{115f}"],
  ["line separators", "a\u2028b\u2029c", "a\\u{2028}b\\u{2029}c"],
  ["half a surrogate pair", "a\ud800b", "a\ufffdb"],
  ["a soft hyphen", "a\u00adb", "a\\u{ad}b"],
  ["a pile of marks", `e${"\u0301".repeat(50)}`, `e${"\u0301".repeat(4)}`],
  ["tabs and line breaks", "a\tb\r\nc", "a  b\nc"],
  [
    "a joiner that joins no emoji",
    "👩\u200dx a\u200d👩 👩\u200d\u200d👩",
    "👩\\u{200d}x a\\u{200d}👩 👩\\u{200d}\\u{200d}👩",
  ],
  ["nothing where emoji are joined", "👩‍👩‍👧 👩🏽‍🚀 🏳️‍🌈 ❤️‍🔥", "👩‍👩‍👧 👩🏽‍🚀 🏳️‍🌈 ❤️‍🔥"],
  ["nothing at all", "Ünïcode, 漢字, emoji ❤️ 👍", "Ünïcode, 漢字, emoji ❤️ 👍"],
];

/** A joiner between two emoji. */
const JOINED_EMOJI =
  /(?<=\p{Extended_Pictographic}[\uFE0E\uFE0F\p{Emoji_Modifier}]?)\u200D(?=\p{Extended_Pictographic})/gu;

describe("text on a terminal", () => {
  it.each(CORPUS)("is safe from %s", (_what, text, shown) => {
    expect(safeText(text)).toBe(shown);
  });

  it("never has a control, format or invisible character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200, size: "max" }), (text) => {
        const shown = safeText(text);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown.replaceAll(JOINED_EMOJI, "").replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it("is made safe in linear time", () => {
    for (const piece of ["\u001b]0;", "\u001b[", "\u009d", "\u001b[1;", "\u0301", "\u001b"]) {
      const text = piece.repeat(200_000);
      expect(computing(() => safeText(text))).toBeLessThan(2_000);
    }
  });

  it("is safe as JSON, and the same to a program", () => {
    const value = { "\u009bk": ["\u202e", "\u{e0041}", "\u007f", "\u2028", "plain ❤ é"] };
    const line = safeJson(value);
    expect(JSON.parse(line)).toEqual(value);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(line).toContain("plain ❤ é");
  });

  it("can be put on one line", () => {
    expect(safeLine("  a\n\n b\r\n\tc ")).toBe("a b c");
  });

  it("is cut to columns, never inside a character", () => {
    expect(clipped("漢字漢字", 5)).toBe("漢字…");
    expect(clipped("short", 5)).toBe("short");
    expect(clipped("👩‍👩‍👧 family", 200)).toBe("👩‍👩‍👧 family");
    expect(clipped("👩‍👩‍👧 family", 6)).toBe("👩‍👩‍👧 fa…");
    expect(clipped("👩‍👩‍👧 family", 2)).toBe("…");
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 1, max: 40 }),
        (text, width) => widthOf(clipped(text, width)) <= width,
      ),
    );
  });

  it("is broken between words and never inside one", () => {
    const lines = wrapped("one two three four /a/path/that/is/longer/than/any/line five", 16, 3);
    expect(lines).toEqual(["   one two three", "   four", "   /a/path/that/is/longer/than/any/line", "   five"]);
    expect(wrapped("日本語 日本語 日本語", 10, 2)).toEqual(["  日本語", "  日本語", "  日本語"]);
    expect(wrapped("a\u001b[31mb", 20, 0)).toEqual(["ab"]);
  });
});
