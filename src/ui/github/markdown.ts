import { clipped } from "../display.ts";

/** Punctuation that may have a meaning in Markdown, in HTML or to GitHub, and the dot that makes `www.` a link. */
const MEANT = /[\\`*_[\]<>&#|~@:!$]|(?<=w)\./giu;

/** Untrusted text as Markdown, on one line of at most `width` columns. It cannot create markup, a link or a mention. */
export function markdownText(text: string, width: number): string {
  return clipped(text, width).replace(MEANT, (character) => `&#${character.codePointAt(0)};`);
}

/** The same as code, in which GitHub does not look for names. */
export function markdownCode(text: string, width: number): string {
  return `<code>${markdownText(text, width)}</code>`;
}
