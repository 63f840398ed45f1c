import { replaceUnsafe } from "../lib/terminal-text.ts";

/** A text of whatever origin on one line, without anything that a terminal would obey: for files that people look at in one. */
export function oneLine(text: string): string {
  return replaceUnsafe(text, () => " ");
}
