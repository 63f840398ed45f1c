import { widthOf, cut, cutStart } from "../../lib/text-layout.ts";
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

export const EMPTY_FIELD: Field = { text: "", cursor: 0, killed: "" };

export function fieldOf(text: string): Field {
  return { text, cursor: text.length, killed: "" };
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const MOVES: Readonly<Record<string, (before: string, after: string) => number>> = {
  left: (before) => -lastCharacter(before),
  "ctrl-b": (before) => -lastCharacter(before),
  right: (_, after) => firstCharacter(after),
  "ctrl-f": (_, after) => firstCharacter(after),
  home: (before) => -before.length,
  "ctrl-a": (before) => -before.length,
  end: (_, after) => after.length,
  "ctrl-e": (_, after) => after.length,
  "ctrl-left": (before) => -lastWord(before),
  "alt-left": (before) => -lastWord(before),
  "alt-b": (before) => -lastWord(before),
  "ctrl-right": (_, after) => firstWord(after),
  "alt-right": (_, after) => firstWord(after),
  "alt-f": (_, after) => firstWord(after),
};

/** What each key removes: so many units before the cursor if negative, else after it. All but single characters can be put back. */
const REMOVALS: typeof MOVES = {
  backspace: (before) => -lastCharacter(before),
  delete: (_, after) => firstCharacter(after),
  "ctrl-d": (_, after) => firstCharacter(after),
  "ctrl-w": (before) => -(/\S*\s*$/u.exec(before)?.[0].length ?? 0),
  "alt-backspace": (before) => -lastWord(before),
  "ctrl-u": (before) => -before.length,
  "ctrl-k": (_, after) => after.length,
  "alt-d": (_, after) => firstWord(after),
};
const SINGLE = new Set(["backspace", "delete", "ctrl-d"]);

/** The field after a key, as readline edits. Keys that edit nothing change nothing. */
export function editField(field: Field, { name, ctrl, alt, text }: Key): Field {
  const { cursor, killed } = field;
  const [before, after] = [field.text.slice(0, cursor), field.text.slice(cursor)];
  const key = `${ctrl === true ? "ctrl-" : ""}${alt === true ? "alt-" : ""}${name}`;
  const moved = MOVES[key]?.(before, after);
  if (moved !== undefined) return { ...field, cursor: cursor + moved };
  const removed = REMOVALS[key]?.(before, after);
  if (removed !== undefined) {
    const [from, to] = [cursor + Math.min(0, removed), cursor + Math.max(0, removed)];
    return {
      text: field.text.slice(0, from) + field.text.slice(to),
      cursor: from,
      killed: SINGLE.has(key) || removed === 0 ? killed : field.text.slice(from, to),
    };
  }
  // The names of other keys than characters are longer.
  const put = key === "ctrl-y" ? killed : (text ?? (/^.$/u.test(key) ? key : ""));
  return { text: before + put + after, cursor: cursor + put.length, killed };
}

/** What fits into `columns` of a field on one row, around the cursor. Line breaks are shown. */
export function fieldParts({ text, cursor }: Field, columns: number): [before: string, after: string] {
  const [before, after] = [shown(text.slice(0, cursor)), shown(text.slice(cursor))];
  const room = columns - Math.min(widthOf(after), Math.floor(columns / 4));
  const kept = widthOf(before) <= room ? before : cutStart(before, room);
  const left = columns - widthOf(kept);
  return [kept, widthOf(after) <= left ? after : cut(after, left)];
}

function shown(text: string): string {
  return visibleText(text).replaceAll("\n", "⏎");
}

function firstCharacter(text: string): number {
  return graphemes.segment(text).containing(0)?.segment.length ?? 0;
}

function lastCharacter(text: string): number {
  return graphemes.segment(text).containing(text.length - 1)?.segment.length ?? 0;
}

function firstWord(text: string): number {
  return /^[^\p{L}\p{N}]*[\p{L}\p{N}\p{M}]*/u.exec(text)?.[0].length ?? 0;
}

function lastWord(text: string): number {
  return /[\p{L}\p{N}\p{M}]*[^\p{L}\p{N}]*$/u.exec(text)?.[0].length ?? 0;
}
