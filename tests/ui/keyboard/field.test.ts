import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { widthOf } from "../../../src/lib/text-layout.ts";
import { editField, type Field, fieldOf, fieldParts } from "../../../src/ui/keyboard/field.ts";

/** A field's text after keys such as `ctrl-w`, with `|` at the cursor. */
function edited(text: string, ...keys: readonly string[]): string {
  let field: Field = fieldOf(text);
  for (const name of keys) field = editField(field, { name });
  return `${field.text.slice(0, field.cursor)}|${field.text.slice(field.cursor)}`;
}

describe("a field", () => {
  it.each([
    ["ab", ["left", "X"], "aX|b"],
    ["ab", ["home", "delete", "end", "c"], "bc|"],
    ["ab", ["ctrl-a", "ctrl-f", "ctrl-d"], "a|"],
    ["abc def", ["ctrl-w"], "abc |"],
    ["abc def-ghi", ["alt-backspace"], "abc def-|"],
    ["abc def", ["ctrl-w", "ctrl-y", "ctrl-y"], "abc defdef|"],
    ["abc def", ["ctrl-u"], "|"],
    ["abc def", ["alt-b", "ctrl-k"], "abc |"],
    ["abc def", ["home", "alt-f", "X", "alt-d"], "abcX|"],
    ["abc def", ["ctrl-left", "ctrl-left", "ctrl-right"], "abc| def"],
    ["ab", ["ctrl-g", "alt-x", "up", "f1", "escape", "ctrl-z"], "ab|"],
    ["", ["backspace", "delete", "left", "right", "ctrl-w"], "|"],
  ])("is edited as by readline: %j %j", (text, keys, expected) => {
    expect(edited(text, ...keys)).toBe(expected);
  });

  it.each(["👨‍👩‍👧", "🇯🇵", "e\u0301", "1️⃣", "क्षि", "👍🏽"])("loses a whole character to a key: %s", (character) => {
    expect(edited(`Z${character}`, "backspace")).toBe("Z|");
    expect(edited(`Z${character}`, "left", "delete")).toBe("Z|");
    expect(edited(`Z${character}`, "left", "right")).toBe(`Z${character}|`);
  });

  it("takes a paste at its cursor, with its lines", () => {
    const pasted = editField({ text: "ab", cursor: 1, killed: "" }, { name: "paste", text: "x\ny" });
    expect(pasted).toEqual({ text: "ax\nyb", cursor: 4, killed: "" });
    expect(fieldParts(pasted, 20)).toEqual(["ax⏎y", "b"]);
  });

  it("shows its cursor, whatever fits", () => {
    expect(fieldParts(fieldOf("abcdefgh"), 5)).toEqual(["…efgh", ""]);
    expect(fieldParts({ ...fieldOf("abcdefgh"), cursor: 0 }, 5)).toEqual(["", "abcde"]);
    const texts = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 2, max: 40 }), (before, after, columns) => {
        const parts = fieldParts({ text: before + after, cursor: before.length, killed: "" }, columns);
        expect(widthOf(parts[0]) + widthOf(parts[1])).toBeLessThanOrEqual(columns);
      }),
    );
  });
});
