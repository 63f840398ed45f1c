/** Punctuation with a meaning in Markdown, in HTML or to GitHub. A `_` inside a word and a `$` before a digit have none. */
const MARKUP = /[\\`*[\]<>&#|~@!]|\$(?!\d)|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/** The colon of an address or of an emoji such as `:tada:`, but not of a time, and the dot that makes `www.` a link. */
const LINK = /:(?=\/\/)|(?<!\d):(?=[\w+-]+:)|(?<=w)\./giu;

/** What begins a bullet list, or makes the line above it a heading. */
const LIST = /^[-+=]/u;

/** One line of untrusted text as Markdown. It cannot create markup, a link or a mention. */
export function escapedMarkdown(line: string): string {
  const escape = (character: string) => `&#${character.codePointAt(0)};`;
  return line.replace(MARKUP, escape).replace(LINK, escape).replace(LIST, escape);
}
