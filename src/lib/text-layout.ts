import { createRequire } from "node:module";
import type cliTruncate from "cli-truncate";
import type stringWidth from "string-width";
import type wrapAnsi from "wrap-ansi";
import { isPlain } from "./terminal-text.ts";

/** Printable ASCII, and what screens draw with: each one column wide. */
const NARROW = /^[ -~─│├└█▓░▸·…]*$/;

/** How many terminal columns a line takes. */
export function widthOf(line: string): number {
  return NARROW.test(line) ? line.length : library("string-width")(line);
}

/** The beginning of a line that fits into so many columns. */
export function cut(line: string, columns: number): string {
  if (isPlain(line)) return line.slice(0, columns);
  return library("cli-truncate")(line, columns, { truncationCharacter: "" });
}

/** A line broken between words into lines of at most so many columns. A longer word stays whole. */
export function wrap(line: string, columns: number): string[] {
  return widthOf(line) <= columns ? [line] : library("wrap-ansi")(line, columns).split("\n");
}

/** A line as a terminal of so many columns breaks it, which keeps its blanks. It may have styles. */
export function folded(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  return library("wrap-ansi")(line, columns, { hard: true, trim: false, wordWrap: false }).split("\n");
}

interface Libraries {
  "string-width": typeof stringWidth;
  "cli-truncate": typeof cliTruncate;
  "wrap-ansi": typeof wrapAnsi;
}

const require = createRequire(import.meta.url);

/** Loads a library with the first text that needs it: the widths of Unicode take 40 ms, and most commands do without. */
function library<Name extends keyof Libraries>(name: Name): Libraries[Name] {
  return (require(name) as { readonly default: Libraries[Name] }).default;
}
