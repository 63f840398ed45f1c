import { clipped } from "./display.ts";

/**
 * Punctuation that may have a meaning in Markdown, in HTML or to GitHub, the dot that makes `www.` a link, and what begins a bullet list or makes the
 * line above it a heading.
 */
const MEANT = /[\\`*_[\]<>&#|~@:!$]|(?<=w)\.|^[-+=]/giu;

/** Untrusted text as Markdown, on one line of at most `width` columns. It cannot create markup, a link or a mention. */
export function markdownText(text: string, width = Number.POSITIVE_INFINITY): string {
  return clipped(text, width).replace(MEANT, (character) => `&#${character.codePointAt(0)};`);
}

/** The same as a cell of a table, where `-` alone stands for nothing. */
export function markdownCell(text: string, width?: number): string {
  return text === "-" ? text : markdownText(text, width);
}

/** The same as code, in which GitHub does not look for names. */
export function markdownCode(text: string, width: number): string {
  return `<code>${markdownText(text, width)}</code>`;
}
