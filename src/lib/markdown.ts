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

/** A table, line by line. Its cells are escaped already. */
export function* markdownTable<T>(
  columns: readonly { readonly heading: string; readonly align?: "right" }[],
  entries: Iterable<T>,
  cellsOf: (entry: T) => readonly unknown[],
): IterableIterator<string> {
  yield `| ${columns.map(({ heading }) => heading).join(" | ")} |`;
  yield `|${columns.map(({ align }) => (align === "right" ? "--:" : "---")).join("|")}|`;
  for (const entry of entries) yield `| ${cellsOf(entry).join(" | ")} |`;
}

/**
 * A heading, a text as a quote, so that none of its lines can pass for the document's own, and points. `escaped` makes a line of the text safe; the
 * others are.
 */
export function markdownSection(
  heading: string,
  text: string,
  points: readonly string[],
  escaped: (line: string) => string,
): string[] {
  const quote = text.trim() === "" ? [] : text.split("\n").map((line) => `> ${escaped(line)}`.trimEnd());
  const parts = [quote, points.map((point) => `- ${point}`)].filter((part) => part.length > 0);
  return [heading, ...parts.flatMap((part) => ["", ...part])];
}
