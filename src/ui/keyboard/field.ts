import { cut, elided, widthOf } from "../../lib/text-layout.ts";
import { visibleText } from "../display.ts";
import type { Key } from "./decoder.ts";

/** A text that is being typed. */
export interface Field {
  readonly text: string;
  /** The index in `text` before which typed text goes. */
  readonly cursor: number;
  /** What Ctrl-Y puts back. */
  readonly killed: string;
}

export function fieldOf(text = ""): Field {
  return { text, cursor: text.length, killed: "" };
}

/** How far keys move the cursor, given the text before and after it. */
const MOVES: Readonly<Record<string, (before: string, after: string) => number>> = {
  left: (before) => -characterAt(before, before.length - 1),
  right: (_, after) => characterAt(after, 0),
  home: (before) => -before.length,
  end: (_, after) => after.length,
  "ctrl-left": (before) => -lengthOf(/[\p{L}\p{N}\p{M}]*[^\p{L}\p{N}]*$/u, before),
  "ctrl-right": (_, after) => lengthOf(/^[^\p{L}\p{N}]*[\p{L}\p{N}\p{M}]*/u, after),
  space: (before) => -lengthOf(/\S*\s*$/u, before),
};

/** Other keys for the same. */
const ALIKE: Readonly<Record<string, string>> = {
  ...{ "ctrl-b": "left", "ctrl-f": "right", "ctrl-a": "home", "ctrl-e": "end" },
  ...{ "alt-b": "ctrl-left", "alt-left": "ctrl-left", "alt-f": "ctrl-right", "alt-right": "ctrl-right" },
};

/** Keys that remove what another would move over. */
const REMOVALS: Readonly<Record<string, string>> = {
  ...{ backspace: "left", delete: "right", "ctrl-d": "right", "ctrl-u": "home", "ctrl-k": "end" },
  ...{ "ctrl-w": "space", "alt-backspace": "ctrl-left", "alt-d": "ctrl-right" },
};

/** The field after a key, as readline edits. Other keys change nothing. */
export function editField(field: Field, { name, text }: Key): Field {
  const { cursor, killed } = field;
  const [before, after] = [field.text.slice(0, cursor), field.text.slice(cursor)];
  const removed = REMOVALS[name];
  const by = MOVES[removed ?? ALIKE[name] ?? name]?.(before, after);
  if (by === undefined) {
    // The names of other keys than characters are longer.
    const put = name === "ctrl-y" ? killed : (text ?? (/^.$/u.test(name) ? name : ""));
    return { text: before + put + after, cursor: cursor + put.length, killed };
  }
  if (removed === undefined) return { ...field, cursor: cursor + by };
  const gone = by < 0 ? before.slice(by) : after.slice(0, by);
  const kept = by < 0 ? before.slice(0, by) + after : before + after.slice(by);
  const isSingle = gone === "" || removed === "left" || removed === "right";
  return { text: kept, cursor: cursor + Math.min(0, by), killed: isSingle ? killed : gone };
}

/** The keys that leave a field without its text. */
export const LEAVING: ReadonlySet<string> = new Set(["escape", "ctrl-c"]);

/** What fits into `columns` of a field on one row, around the cursor. Line breaks are shown. */
export function fieldParts({ text, cursor }: Field, columns: number): [before: string, after: string] {
  const [before = "", after = ""] = [text.slice(0, cursor), text.slice(cursor)].map((part) =>
    visibleText(part).replaceAll("\n", "⏎"),
  );
  const shown = elided(before, columns - Math.min(widthOf(after), Math.floor(columns / 4)), "start");
  return [shown, cut(after, columns - widthOf(shown))];
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function characterAt(text: string, index: number): number {
  return graphemes.segment(text).containing(index)?.segment.length ?? 0;
}

function lengthOf(part: RegExp, text: string): number {
  return part.exec(text)?.[0].length ?? 0;
}
