import { widthOf } from "../lib/terminal-text.ts";
import { clipped, safeLine } from "./display.ts";

/** One column: its heading, and the widest it may get. */
export interface Column {
  readonly heading: string;
  readonly widest?: number;
}

const BETWEEN = "  ";

/** The last column is cut to what is left, but not to less than this. */
const LEAST_LAST = 10;

/**
 * A table, a text for each row, each column as wide as it must be; the last one gets what is left of `width` columns. Where they do not
 * fit beside each other a row has further lines, indented, and each column its place in them. Without an end to the width nothing is
 * cut. Every cell is made safe.
 */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string[] {
  const cells = [columns.map((column) => column.heading), ...rows.map((row) => row.map(safeLine))];
  const endless = Number.POSITIVE_INFINITY;
  const last = columns.length - 1;
  // No column leaves less than half of a line to the others.
  const most = (index: number) => (index === last ? width - BETWEEN.length : Math.floor(width / 2));
  const widths = columns.map(({ widest = endless }, index) =>
    Math.min(
      width === endless ? endless : Math.min(widest, most(index)),
      cells.reduce((widestYet, row) => Math.max(widestYet, widthOf(row[index] ?? "")), 0),
    ),
  );
  const lines: number[][] = [[]];
  let used = 0;
  for (const [index, wide] of widths.entries()) {
    const least = index === last ? Math.min(wide, LEAST_LAST) : wide;
    if (index > 0 && used + BETWEEN.length + least > width) {
      lines.push([]);
      used = 0;
    }
    used += index > 0 ? BETWEEN.length : 0;
    if (index === last) widths[last] = Math.min(wide, Math.max(LEAST_LAST, width - used));
    used += wide;
    lines.at(-1)?.push(index);
  }
  const cellOf = (row: readonly string[], index: number) => {
    const wide = widths[index] ?? 0;
    const text = clipped(row[index] ?? "", wide);
    return index === last ? text : text + " ".repeat(Math.max(0, wide - widthOf(text)));
  };
  return cells.map((row) =>
    lines
      .map((line) => line.map((index) => (index === 0 ? "" : BETWEEN) + cellOf(row, index)).join(""))
      .map((line) => line.trimEnd())
      .filter((line, number) => number === 0 || line !== "")
      .join("\n"),
  );
}
