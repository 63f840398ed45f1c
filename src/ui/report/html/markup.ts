import { safeLine } from "../../display.ts";

/** Escapes untrusted text for markup, on one line: as an element's text, or in a double-quoted attribute. */
export function escapeMarkup(text: string): string {
  return safeLine(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** The note in place of a drawing with too many parts. */
export function notDrawn(count: number, most: number): string {
  return `<p class="legend">Too many to draw: ${count}, at most ${most}.</p>`;
}
