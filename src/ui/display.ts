import { isPlain, jsonEscaped, replaceEachUnsafe, withoutSequences } from "../lib/terminal-text.ts";
import { cut, widthOf, wrap } from "../lib/text-layout.ts";
import { inertJson } from "../lib/workflow-commands.ts";

/** Combining marks after the first four of a character are dropped, because more would cover the lines above. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu;

/**
 * Makes untrusted text safe for a terminal, in lines. Escape sequences are removed, a tab becomes two spaces, and every other character that could
 * move the cursor, hide or reorder text is written as `\u{202e}`. All text that Bosun did not write itself goes through here.
 */
export function safeText(text: string): string {
  if (isPlain(text)) return text;
  const spaced = withoutSequences(text.toWellFormed()).replaceAll("\r\n", "\n").replaceAll("\t", "  ");
  return replaceEachUnsafe(spaced.replace(PILED_MARKS, "$1"), escaped);
}

/** Like `safeText`, with escape sequences visible too: text that a person decides on must hide nothing. */
export function visibleText(text: string): string {
  return replaceEachUnsafe(text.toWellFormed().replaceAll("\r\n", "\n").replaceAll("\t", "  "), escaped);
}

/** Makes untrusted text safe, on one line: line breaks and runs of whitespace become one space. */
export function safeLine(text: string): string {
  return safeText(text).replace(/\s+/gu, " ").trim();
}

/** One line, cut with an ellipsis to at most `width` terminal columns. */
export function clipped(text: string, width: number): string {
  const line = safeLine(text);
  return widthOf(line) <= width ? line : `${cut(line, width - 1).trimEnd()}…`;
}

/** Wraps text to lines of at most `width` columns, each with an indent of `indent` spaces. Longer words stay whole. */
export function wrapped(text: string, width: number, indent: number): string[] {
  return wrap(safeLine(text), width - indent).map((line) => " ".repeat(indent) + line);
}

/** Wraps text of several lines: a line that fits stays as it was written, others are broken between words. */
export function wrappedLines(text: string, width: number, indent: number): string[] {
  return safeText(text)
    .split("\n")
    .flatMap((line) => (indent + widthOf(line) <= width ? [" ".repeat(indent) + line] : wrapped(line, width, indent)));
}

/**
 * Wraps text like `wrapped`, without an indent on the first line: it continues a line that is already `indent` columns wide, or stands out. A
 * `command` at the end is for copying, so it is not broken, and gets a line of its own if it does not fit. It must be safe.
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

/** A value as one line of JSON, safe for a terminal and a GitHub job, and the same to programs: unsafe characters become JSON escapes. */
export function safeJson(value: unknown): string {
  return inertJson(safeQuoted(JSON.stringify(value)));
}

/** Makes lines of JSON or YAML safe with such escapes. In YAML, text with an unsafe character must be in double quotes. */
export function safeQuoted(text: string): string {
  if (isPlain(text)) return text;
  return replaceEachUnsafe(text, (character) => (character === "\n" ? character : jsonEscaped(character)));
}

function escaped(character: string): string {
  return character === "\n" ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
