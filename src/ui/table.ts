import { widthOf } from "../lib/terminal-text.ts";
import { clipped, safeLine } from "./display.ts";

/** One column: its heading, and the widest it may get. */
export interface Column {
  readonly heading: string;
  readonly widest?: number;
}

/**
 * A table as lines, each column as wide as it must be; the last one gets what is left of `width` columns. Without an
 * end to the width nothing is cut. Every cell is made safe.
 */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string[] {
  const cells = [columns.map((column) => column.heading), ...rows.map((row) => row.map(safeLine))];
  const endless = Number.POSITIVE_INFINITY;
  const widths = columns.map(({ widest = endless }, index) =>
    Math.min(
      width === endless ? endless : widest,
      cells.reduce((widestYet, row) => Math.max(widestYet, widthOf(row[index] ?? "")), 0),
    ),
  );
  const before = widths.slice(0, -1).reduce((sum, wide) => sum + wide + 2, 0);
  const last = columns.length - 1;
  widths[last] = Math.min(widths[last] ?? 0, Math.max(10, width - before));
  return cells.map((row) =>
    row
      .map((cell, index) => {
        const wide = widths[index] ?? 0;
        const text = clipped(cell, wide);
        return index === last ? text : text + " ".repeat(Math.max(0, wide - widthOf(text)));
      })
      .join("  ")
      .trimEnd(),
  );
}
