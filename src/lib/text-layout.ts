import { createRequire } from "node:module";
import type cliTruncate from "cli-truncate";
import type stringWidth from "string-width";
import type wrapAnsi from "wrap-ansi";
import { isPlain } from "./terminal-text.ts";

/** Printable ASCII, and the characters that screens draw with, each one column wide. */
const NARROW = /^[ -~─│├└█▓░▸·…]*$/;

export function widthOf(line: string): number {
  return NARROW.test(line) ? line.length : library("string-width")(line);
}

/** The start of a line that fits into `columns`. */
export function cut(line: string, columns: number): string {
  if (isPlain(line)) return line.slice(0, columns);
  return library("cli-truncate")(line, columns, { truncationCharacter: "" });
}

/** A line that fits into `columns`, with an ellipsis at its start or in its middle, so that texts that begin alike can be told apart. */
export function elided(line: string, columns: number, position: "start" | "middle"): string {
  return widthOf(line) <= columns ? line : library("cli-truncate")(line, columns, { position });
}

/** Wraps a line at spaces into lines of at most `columns`. Longer words stay whole. */
export function wrap(line: string, columns: number): string[] {
  return widthOf(line) <= columns ? [line] : library("wrap-ansi")(line, columns).split("\n");
}

/** Wraps a line as a terminal with `columns` does, keeping its spaces. It may have styles. */
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

/** Loads a library for the first text that needs it: the Unicode width tables take 40 ms to load, and most commands do not need them. */
function library<Name extends keyof Libraries>(name: Name): Libraries[Name] {
  return (require(name) as { readonly default: Libraries[Name] }).default;
}
