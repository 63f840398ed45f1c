import { type Line, trusted } from "../tui/line.ts";
import type { Style } from "../terminal.ts";
import type { Marker, Tape } from "./tape.ts";

/** How markers are shown, the most important first. A column shows only its most important one. */
export const MARKS: Readonly<Record<Marker, { readonly icon: string; readonly style: Style }>> = {
  error: { icon: "x", style: "red" },
  question: { icon: "?", style: "yellow" },
  decision: { icon: "D", style: "green" },
  review: { icon: "R", style: "cyan" },
};

const RANKS = Object.keys(MARKS) as readonly Marker[];

/** Shows where in the log the record at `place` is, and how far the log has been read. */
export function scrubberLine({ sequences, entries }: Tape, place: number, columns: number): Line {
  const width = columns - 4;
  const at = columnOf(place, sequences.length, width);
  const read = columnOf(entries.length - 1, sequences.length, width);
  const dots = Math.max(0, width - 1 - Math.max(at, read));
  return [
    trusted(" ├", "dim"),
    trusted("─".repeat(at), "dim"),
    trusted("●", "bold"),
    trusted("─".repeat(Math.max(0, width - at - 1 - dots)), "dim"),
    trusted(" ".repeat(dots)),
    trusted("┤", "dim"),
  ];
}

/** The markers, shown below the scrubber. */
export function markerLine({ sequences, entries }: Tape, columns: number): Line {
  const width = columns - 4;
  const shown: (Marker | undefined)[] = Array.from({ length: width });
  for (const [place, { marker }] of entries.entries()) {
    if (marker === undefined) continue;
    const column = columnOf(place, sequences.length, width);
    const other = shown[column];
    if (other === undefined || RANKS.indexOf(marker) < RANKS.indexOf(other)) shown[column] = marker;
  }
  return [
    trusted("  "),
    ...shown.map((marker) => (marker === undefined ? trusted(" ") : trusted(MARKS[marker].icon, MARKS[marker].style))),
  ];
}

function columnOf(place: number, count: number, width: number): number {
  return count <= 1 ? 0 : Math.round((Math.max(0, place) / (count - 1)) * (width - 1));
}
