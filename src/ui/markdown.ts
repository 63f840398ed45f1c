import { clipped } from "./display.ts";

/** Punctuation with a meaning in Markdown, in HTML or to GitHub. A `_` inside a word and a `$` before a digit have none. */
const MARKUP = /[\\`*[\]<>&#|~@!]|\$(?!\d)|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/** The colon of an address or of an emoji such as `:tada:`, but not of a time, and the dot that makes `www.` a link. */
const LINK = /:(?=\/\/)|(?<!\d):(?=[\w+-]+:)|(?<=w)\./giu;

/** What begins a bullet list, or makes the line above it a heading. */
const LIST = /^[-+=]/u;

/** Untrusted text as Markdown, on one line of at most `width` columns. It cannot create markup, a link or a mention. */
export function markdownText(text: string, width = Number.POSITIVE_INFINITY): string {
  const escape = (character: string) => `&#${character.codePointAt(0)};`;
  return clipped(text, width).replace(MARKUP, escape).replace(LINK, escape).replace(LIST, escape);
}

/** The same as a cell of a table, where `-` alone stands for nothing. */
export function markdownCell(text: string, width?: number): string {
  return text === "-" ? text : markdownText(text, width);
}

/** The same as code, in which GitHub does not look for names. */
export function markdownCode(text: string, width: number): string {
  return `<code>${markdownText(text, width)}</code>`;
}
