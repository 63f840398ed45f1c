import { folded, widthOf } from "../lib/text-layout.ts";
import type { Output } from "./terminal.ts";

/** The size of a terminal that does not tell its own. */
const ROWS = 24;
const COLUMNS = 80;

const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** A terminal whose whole screen is painted again and again. It changes no mode of the terminal, so nothing has to be restored. */
export class Screen {
  readonly #stream: NodeJS.WriteStream;
  /** What was painted, and on a screen of which size; undefined if that may be gone. */
  #painted: string | undefined;
  #size = "";

  /** What the screen shows before goes to the lines above it. */
  constructor({ stream }: Pick<Output, "stream">) {
    this.#stream = stream;
    stream.write("\n".repeat(stream.rows || ROWS));
    process.on("SIGCONT", this.#forget);
  }

  /** How many rows can be painted; the cursor stays below them. */
  get rows(): number {
    return (this.#stream.rows || ROWS) - 1;
  }

  get columns(): number {
    return this.#stream.columns || COLUMNS;
  }

  /** Whether the last lines may be in another place: the terminal has another size, or a shell has written on it. */
  get isStale(): boolean {
    return this.#painted === undefined || this.#size !== `${this.rows} ${this.columns}`;
  }

  /** Paints the lines over the last ones, if they differ. They must not be higher than the screen. */
  paint(lines: readonly string[]): void {
    const text = lines.map((line) => paintedLine(line, this.columns)).join("");
    if (text === this.#painted && !this.isStale) return;
    this.#painted = text;
    this.#size = `${this.rows} ${this.columns}`;
    // In one piece, and each row over the last one: a screen that is cleared first flickers.
    this.#stream.write(`${HOME}${text}${CLEAR_BELOW}`);
  }

  close(): void {
    process.off("SIGCONT", this.#forget);
  }

  readonly #forget = () => {
    this.#painted = undefined;
  };
}

function paintedLine(line: string, columns: number): string {
  const rows = folded(line, columns);
  return rows
    .map((row, index) => {
      if (widthOf(row) < columns) return `${row}${CLEAR_LINE}\n`;
      // After a full row the cursor is still on its last column, which clearing would clear. The terminal goes on in the next row by itself,
      // so that a long command can be copied in one piece.
      return index < rows.length - 1 ? row : `${row}\n`;
    })
    .join("");
}
