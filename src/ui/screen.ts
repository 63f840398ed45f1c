import { folded, widthOf } from "../lib/text-layout.ts";
import type { Output } from "./terminal.ts";

/** The assumed size of a terminal that does not report its own. */
const ROWS = 24;
const COLUMNS = 80;

const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** Repaints the whole screen of a terminal in place. It changes no terminal mode, so nothing has to be restored. */
export class Screen {
  readonly #stream: NodeJS.WriteStream;
  /** The text that was painted, on a screen of `#size`; undefined if it may be gone. */
  #painted: string | undefined;
  #size = "";

  /** Scrolls the current contents of the screen out of view, so that they are kept. */
  constructor({ stream }: Pick<Output, "stream">) {
    this.#stream = stream;
    stream.write("\n".repeat(stream.rows || ROWS));
    process.on("SIGCONT", this.#forget);
  }

  /** The number of rows that can be painted; the cursor stays below them. */
  get rows(): number {
    return (this.#stream.rows || ROWS) - 1;
  }

  get columns(): number {
    return this.#stream.columns || COLUMNS;
  }

  /** Whether the painted lines may have moved: the terminal was resized, or a shell has written to it. */
  get isStale(): boolean {
    return this.#painted === undefined || this.#size !== `${this.rows} ${this.columns}`;
  }

  /** Paints the lines over the last ones if they differ. They must fit on the screen. */
  paint(lines: readonly string[]): void {
    const text = lines.map((line) => paintedLine(line, this.columns)).join("");
    if (text === this.#painted && !this.isStale) return;
    this.#painted = text;
    this.#size = `${this.rows} ${this.columns}`;
    // One write overwrites each row, because a screen that is cleared first flickers.
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
      // After a full row the cursor is still on its last column, which clearing would erase. The terminal wraps to the next row by itself,
      // so that a long command can be copied in one piece.
      return index < rows.length - 1 ? row : `${row}\n`;
    })
    .join("");
}
