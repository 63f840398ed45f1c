import { isPlain, jsonEscaped, replaceEachUnsafe, withoutSequences } from "../lib/terminal-text.ts";
import { cut, widthOf, wrap } from "../lib/text-layout.ts";
import { inertJson } from "../lib/workflow-commands.ts";

/** A character keeps so many combining marks, since more would cover the lines above. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu;

/**
 * Foreign text made safe for a terminal, in lines. Escape sequences are removed, a tab becomes two blanks, and every other character
 * that could move the cursor, hide or reorder text is written as `\u{202e}`. All text that Bosun did not write itself goes through
 * here.
 */
export function safeText(text: string): string {
  if (isPlain(text)) return text;
  const spaced = withoutSequences(text.toWellFormed()).replaceAll("\r\n", "\n").replaceAll("\t", "  ");
  return replaceEachUnsafe(spaced.replace(PILED_MARKS, "$1"), escaped);
}

/** The same with its escape sequences visible, too: text that a person decides on hides nothing. */
export function visibleText(text: string): string {
  return replaceEachUnsafe(text.toWellFormed().replaceAll("\r\n", "\n").replaceAll("\t", "  "), escaped);
}

/** Foreign text made safe, on one line: line breaks and runs of blanks become one blank. */
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

/** A text of several lines: each as it was written if it fits, else broken between words. */
export function wrappedLines(text: string, width: number, indent: number): string[] {
  return safeText(text)
    .split("\n")
    .flatMap((line) => (indent + widthOf(line) <= width ? [" ".repeat(indent) + line] : wrapped(line, width, indent)));
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

/** A value as one line of JSON, safe for a terminal and a GitHub job and the same to a program: unsafe characters are JSON's own escapes. */
export function safeJson(value: unknown): string {
  return inertJson(safeQuoted(JSON.stringify(value)));
}

/** JSON or YAML in lines made safe with such escapes. In YAML a text with an unsafe character must be in double quotes. */
export function safeQuoted(text: string): string {
  if (isPlain(text)) return text;
  return replaceEachUnsafe(text, (character) => (character === "\n" ? character : jsonEscaped(character)));
}

function escaped(character: string): string {
  return character === "\n" ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
