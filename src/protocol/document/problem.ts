import { replaceEachUnsafe } from "../../lib/terminal-text.ts";
import { widthOf } from "../../lib/text-layout.ts";

/** Something that is wrong with a value, wherever the value came from. */
export interface Finding {
  /** JSON pointer to the value; empty for the whole. */
  readonly pointer: string;
  /** `key` if the key is wrong, not its value. */
  readonly at?: "key" | "value";
  /** A sentence without its full stop. */
  readonly what: string;
  readonly expected?: string | undefined;
  /** The known key or name most likely meant. */
  readonly nearest?: string | undefined;
  /** Set if a text may stand where a number, a boolean or null stands, so that quotes may be missing. */
  readonly unquoted?: true;
}

/** A position in a text: line and column count from 1, columns in UTF-16 units; `source` is that whole line. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
  readonly source: string;
}

/** A finding in a file that a person wrote, with what they need to find and correct it. */
export interface Problem extends Omit<Finding, "at" | "unquoted"> {
  /** The path as the person gave it, or the name of another source, such as `BOSUN_MAX_WORKERS`. */
  readonly file: string;
  /** Absent when the problem is about the file as a whole. */
  readonly position?: SourcePosition;
  /** Set if the file itself is missing. */
  readonly missing?: true;
}

/** Maximum number of characters shown of a source line: with what stands around them, they fit into a terminal of 80 columns. */
const EXCERPT_WIDTH = 66;

/** Formats a problem as lines: its place and description, the source line with a caret under the position, and what was expected. */
export function explain({ file, position, what, expected, nearest }: Problem): string[] {
  const where = position ? `${file}:${position.line}:${position.column}` : file;
  const suggestion = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  const lines = [printable(`${where}: ${what}${suggestion}`)];
  if (position && position.source.trim() !== "") lines.push(...excerpt(position));
  if (expected !== undefined) lines.push(printable(`  expected: ${expected}`));
  return lines;
}

function excerpt({ line, column, source }: SourcePosition): string[] {
  const start = column <= EXCERPT_WIDTH - 10 ? 0 : column - EXCERPT_WIDTH / 2;
  const cut = source.slice(start, start + EXCERPT_WIDTH);
  const margin = " ".repeat(String(line).length);
  const lead = start > 0 ? "… " : "";
  const tail = source.length > start + EXCERPT_WIDTH ? " …" : "";
  const indent = " ".repeat(widthOf(lead + printable(cut.slice(0, column - 1 - start))));
  return [`  ${line} | ${lead}${printable(cut)}${tail}`, `  ${margin} | ${indent}^`];
}

/**
 * Makes untrusted text from a file safe for a terminal: a tab becomes a space; control characters and those that reorder or hide text become U+FFFD,
 * one for one, so that columns stay correct.
 */
export function printable(text: string): string {
  return replaceEachUnsafe(text.replaceAll("\t", " "), () => "\ufffd");
}
