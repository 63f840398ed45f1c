import { folded } from "../lib/text-layout.ts";
import { bufferedOutput, type Output } from "./terminal.ts";

/** A part of a screen. A blank line separates parts, except before a `joined` one. */
export interface Part extends PartShown {
  /** 0 is the most important part. Parts with high numbers are left out of a low screen. */
  readonly rank: number;
  readonly lines: readonly string[];
}

export interface PartShown {
  readonly joined?: boolean;
  /** Shortens the lines to fit into `rows`. Without it, the part is shown whole or not at all. */
  readonly shorter?: (rows: number, lines: readonly string[]) => readonly string[];
}

/** Makes a part of the lines that `write` writes. A part without lines is not shown. */
export function partOf(output: Output, rank: number, write: (paper: Output) => void, how: PartShown = {}): Part {
  const paper = bufferedOutput(output);
  write(paper);
  return { ...how, rank, lines: paper.lines };
}

export function wholeScreen(parts: readonly Part[]): string[] {
  const shown = parts.filter(({ lines }) => lines.length > 0);
  return shown.flatMap(({ joined, lines }, index) => (joined === true || index === 0 ? lines : ["", ...lines]));
}

/** Lays out the parts that fit on the screen, the most important first. Blank lines separate them while rows are left. */
export function fittedScreen(parts: readonly Part[], rows: number, columns: number): string[] {
  const whole = wholeScreen(parts);
  if (heightOf(whole, columns) <= rows) return whole;
  let left = rows;
  const shown = new Map<Part, readonly string[]>();
  for (const part of parts.toSorted((one, other) => one.rank - other.rank)) {
    const lines = heightOf(part.lines, columns) <= left ? part.lines : (part.shorter?.(left, part.lines) ?? []);
    const height = heightOf(lines, columns);
    if (height === 0 || height > left) continue;
    left -= height;
    shown.set(part, lines);
  }
  return parts.flatMap((part, index) => {
    const lines = shown.get(part) ?? [];
    if (lines.length === 0 || part.joined === true || index === 0 || left === 0) return lines;
    left -= 1;
    return ["", ...lines];
  });
}

/** As many of the first lines as fit into `rows` together with the last line, `more`, which says that there are more. */
export function firstLines(lines: readonly string[], rows: number, columns: number, more: string): string[] {
  const shown: string[] = [];
  for (const line of lines) {
    if (heightOf([...shown, line, more], columns) > rows) break;
    shown.push(line);
  }
  return [...shown, more];
}

function heightOf(lines: readonly string[], columns: number): number {
  return lines.reduce((height, line) => height + folded(line, columns).length, 0);
}
