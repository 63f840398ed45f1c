import { clipped } from "../display.ts";

/** Punctuation that may mean something in Markdown, in HTML, or to GitHub; and the dot that makes a link of `www.`. */
const MEANT = /[\\`*_[\]<>&#|~@:!$]|(?<=w)\./giu;

/** Foreign text as text in Markdown, on one line of at most `width` columns. It makes no markup, no link and no mention. */
export function markdownText(text: string, width: number): string {
  return clipped(text, width).replace(MEANT, (character) => `&#${character.codePointAt(0)};`);
}

/** The same as code, which GitHub searches for no names. */
export function markdownCode(text: string, width: number): string {
  return `<code>${markdownText(text, width)}</code>`;
}
