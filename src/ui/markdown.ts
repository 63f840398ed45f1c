import { escapedMarkdown } from "../lib/markdown.ts";
import { clipped } from "./display.ts";

/** Untrusted text as Markdown, on one line of at most `width` columns. It cannot create markup, a link or a mention. */
export function markdownText(text: string, width = Number.POSITIVE_INFINITY): string {
  return escapedMarkdown(clipped(text, width));
}

/** The same as a cell of a table, where `-` alone stands for nothing. */
export function markdownCell(text: string, width?: number): string {
  return text === "-" ? text : markdownText(text, width);
}

/** The same as code, in which GitHub does not look for names. */
export function markdownCode(text: string, width: number): string {
  return `<code>${markdownText(text, width)}</code>`;
}
