import { isPlain, jsonEscaped, replaceEachUnsafe, withoutSequences } from "../lib/terminal-text.ts";
import { cut, widthOf, wrap } from "../lib/text-layout.ts";

/** Marks that are piled on a character beyond this many are taken off, since a pile covers the lines above. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu;

/**
 * Text of whatever origin, made safe for a terminal, in lines: escape sequences are taken out, a tab becomes a blank, and every
 * other character that could move a cursor, hide, or reorder is written out as `\u{202e}`. Every text that Bosun did not write
 * itself goes through here, and through nothing else.
 */
export function safeText(text: string): string {
  if (isPlain(text)) return text;
  const spaced = withoutSequences(text.toWellFormed()).replaceAll("\r\n", "\n").replaceAll("\t", "  ");
  return replaceEachUnsafe(spaced.replace(PILED_MARKS, "$1"), escaped);
}

/** The same on one line: line breaks and runs of blanks become one blank. */
export function safeLine(text: string): string {
  return safeText(text).replace(/\s+/gu, " ").trim();
}

/** One line, cut with an ellipsis to at most `width` terminal columns. */
export function clipped(text: string, width: number): string {
  const line = safeLine(text);
  return widthOf(line) <= width ? line : `${cut(line, width - 1).trimEnd()}…`;
}

/** Text as lines of at most `width` columns with `indent` blanks before each, broken between words. A longer word stays whole. */
export function wrapped(text: string, width: number, indent: number): string[] {
  return wrap(safeLine(text), width - indent).map((line) => " ".repeat(indent) + line);
}

/**
 * Text broken like `wrapped` whose first line has no indent: it goes on a line that is `indent` columns wide already, or stands out.
 * A `command` at the end is to be copied, so it is not broken and gets a line of its own where it does not fit. It must be safe.
 */
export function hanging(text: string, width: number, indent: number, command?: string): string[] {
  const lines = wrapped(text, width, indent);
  if (command !== undefined) {
    const last = `${lines.at(-1)} ${command}`;
    if (widthOf(last) <= width) lines[lines.length - 1] = last;
    else lines.push(`  ${command}`);
  }
  const [first = "", ...more] = lines;
  return [first.slice(indent), ...more];
}

/**
 * A value as one line of JSON that is the same to a program and harmless to a terminal: what `safeText` would write out stands as
 * JSON's own escapes.
 */
export function safeJson(value: unknown): string {
  return safeQuoted(JSON.stringify(value));
}

/** The same for a text of JSON or YAML in lines; in YAML, whatever holds such a character must stand in double quotes. */
export function safeQuoted(text: string): string {
  if (isPlain(text)) return text;
  return replaceEachUnsafe(text, (character) => (character === "\n" ? character : jsonEscaped(character)));
}

function escaped(character: string): string {
  return character === "\n" ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
