// Everything that could move a cursor, break the line, or turn the reading direction around.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** A text of whatever origin on one line, without anything that a terminal would obey: for files that people look at in one. */
export function oneLine(text: string): string {
  return text.replace(UNPRINTABLE, " ");
}
