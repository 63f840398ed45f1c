import { widthOf } from "../lib/text-layout.ts";
import { clipped, safeLine } from "./display.ts";

/** A column: its heading, and its maximum width. */
export interface Column {
  readonly heading: string;
  readonly width?: number;
}

/** Maximum width of free text in a row, even without a terminal. It is enough to tell rows apart; `--json` has the whole text. */
export const PROSE_WIDTH = 120;

const BETWEEN = "  ";

/** Minimum width of the last column. */
const MIN_LAST = 10;

/**
 * A table: one text for the headings and one for each row. Columns are as wide as their cells, and the last is cut to `width`. Columns that do not
 * fit beside each other continue on further lines, indented. With an infinite width nothing is cut. Cells are made safe.
 */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string[] {
  const cells = [columns.map(({ heading }) => heading.toUpperCase()), ...rows.map((row) => row.map(safeLine))];
  const endless = Number.POSITIVE_INFINITY;
  const last = columns.length - 1;
  const widths = columns.map(({ width: widest = endless }, index) =>
    Math.min(
      width === endless ? endless : widest,
      cells.reduce((widestYet, row) => Math.max(widestYet, widthOf(row[index] ?? "")), 0),
    ),
  );
  const lines: number[][] = [[]];
  let used = 0;
  for (const [index, wide] of widths.entries()) {
    // A column that would get less than half a line moves to the next line.
    const least = Math.min(wide, index === last ? MIN_LAST : Math.floor(width / 2) - BETWEEN.length);
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
