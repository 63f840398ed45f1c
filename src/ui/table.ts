import { widthOf } from "../lib/text-layout.ts";
import { clipped, safeLine } from "./display.ts";

/** One column: its heading, and the widest it may get. */
export interface Column {
  readonly heading: string;
  readonly widest?: number;
}

/** The columns that free text gets in a row wherever that is read: it is there to tell rows apart, and `--json` has the whole. */
export const PROSE_WIDTH = 120;

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
  const widths = columns.map(({ widest = endless }, index) =>
    Math.min(
      width === endless ? endless : widest,
      cells.reduce((widestYet, row) => Math.max(widestYet, widthOf(row[index] ?? "")), 0),
    ),
  );
  const lines: number[][] = [[]];
  let used = 0;
  for (const [index, wide] of widths.entries()) {
    // One that is cut to less than half of a line has more room in the next.
    const least = Math.min(wide, index === last ? LEAST_LAST : Math.floor(width / 2) - BETWEEN.length);
    if (index > 0 && used + BETWEEN.length + least > width) {
      lines.push([]);
      used = 0;
    }
    if (index > 0) used += BETWEEN.length;
    const given = Math.min(wide, Math.max(least, width - used));
    widths[index] = given;
    used += given;
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
