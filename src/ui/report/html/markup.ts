import { safeLine } from "../../display.ts";

/** Foreign text in markup, on one line: as an element's text, or in an attribute in double quotes. */
export function escapeMarkup(text: string): string {
  return safeLine(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** The beginning of a text. */
export function clip(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).toWellFormed()}…`;
}

/** In place of a drawing of too many things. */
export function notDrawn(count: number, most: number): string {
  return `<p class="legend">Not drawn: ${count} are more than ${most}.</p>`;
}
