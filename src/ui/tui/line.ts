import { cut, widthOf } from "../../lib/text-layout.ts";
import { safeLine } from "../display.ts";
import type { Style } from "../terminal.ts";

/** A piece of a screen line in one style. Its text is safe for a terminal. */
export interface Span {
  readonly text: string;
  readonly style?: Style | "inverse" | undefined;
  /** Whether the terminal's cursor is before it. */
  readonly isCursor?: boolean;
}

export type Line = readonly Span[];

/** Sanitises untrusted text and puts it on one line. */
export function untrusted(text: string, style?: Span["style"]): Span {
  return { text: safeLine(text), style };
}

/** The program's own text; its spaces are kept. */
export function trusted(text: string, style?: Span["style"]): Span {
  return { text, style };
}

/** Fits text to exactly `columns`: pads it, or cuts it with an ellipsis. */
export function cell(text: string, columns: number): string {
  if (columns <= 0) return "";
  const width = widthOf(text);
  if (width <= columns) return text + " ".repeat(columns - width);
  const kept = cut(text, columns - 1);
  return `${kept}…${" ".repeat(Math.max(0, columns - 1 - widthOf(kept)))}`;
}

/** Like `cell`, but right-aligned. */
export function cellRight(text: string, columns: number): string {
  const width = widthOf(text);
  return width < columns ? " ".repeat(columns - width) + text : cell(text, columns);
}

/** Fits a line to exactly `columns`. The spaces at its end have no style, so that Ink does not write them at the end of a row. */
export function fitted(line: Line, columns: number): Line {
  const spans: Span[] = [];
  let left = columns;
  for (const span of line) {
    if (left <= 0) break;
    const width = widthOf(span.text);
    spans.push(width > left ? { ...span, text: cell(span.text, left) } : span);
    left -= Math.min(width, left);
  }
  if (left > 0) spans.push(trusted(" ".repeat(left)));
  return spans;
}

/** A line with one part at each end; the left one is cut if there is no room for both. */
export function justified(left: Line, right: Line, columns: number): Line {
  const width = widthOfLine(right);
  if (width >= columns) return fitted(right, columns);
  return [...fitted([...left, trusted(" ")], columns - width), ...right];
}

export function widthOfLine(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0);
}

/** Puts lines side by side with a bar between them; the left ones are `columns` wide. */
export function beside(left: readonly Line[], right: readonly Line[], columns: number): Line[] {
  return left.map((line, index) => [...fitted(line, columns), trusted("│ ", "dim"), ...(right[index] ?? [])]);
}

export function rule(columns: number, heading = ""): Line {
  const text = heading === "" ? "" : `── ${heading} `;
  return [
    trusted(cell(text, Math.min(columns, widthOf(text))), "dim"),
    trusted("─".repeat(Math.max(0, columns - widthOf(text))), "dim"),
  ];
}
